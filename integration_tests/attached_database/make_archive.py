"""Write archive.duckdb, the database of somebody else that holds the store; a first argument names another file."""

import sys

import duckdb

with duckdb.connect(sys.argv[1] if len(sys.argv) > 1 else "archive.duckdb") as connection:
    connection.execute("create schema if not exists registry")
    connection.execute("""
        create or replace table registry.statements as
        select * from (values
            ('A-1', 'Still life with quince', 'workshop of the elder', date '2019-01-01', null::date, 'catalogue of 2019', null),
            ('A-2', 'Still life with quince', 'the elder himself', date '2026-02-01', null, 'report of the laboratory', 'A-1'),
            ('A-3', 'View of the harbour', 'unknown', date '2019-01-01', null, 'catalogue of 2019', null)
        ) as statements (statement_no, work, attribution, stated_from, valid_to, cited_paper, supersedes)
    """)
