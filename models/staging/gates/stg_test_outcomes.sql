{{ governed_memory.rows_of_file(governed_memory.outcomes_file(), {'suite': 'varchar', 'file': 'varchar', 'test_name': 'varchar', 'outcome': 'varchar'}) }}
