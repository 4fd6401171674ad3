{{ governed_memory.recorded_runs({
    'run_id': 'varchar', 'ran_at': 'timestamptz', 'format': 'varchar', 'packet_id': 'varchar', 'prompt_sha256': 'varchar', 'prompt_tokens': 'bigint',
    'model_type': 'varchar', 'weights': 'varchar', 'model_seed': 'bigint', 'hidden_size': 'bigint', 'layer_count': 'bigint', 'parameter_count': 'bigint',
    'tokenizer': 'varchar', 'device': 'varchar', 'dtype': 'varchar', 'is_diagnostic': 'boolean', 'gate': 'varchar', 'adapter_seed': 'bigint',
    'adapter_width': 'bigint', 'adapter_heads': 'bigint', 'adapter_sha256': 'varchar', 'python_version': 'varchar', 'torch_version': 'varchar',
    'transformers_version': 'varchar', 'safetensors_version': 'varchar', 'duckdb_version': 'varchar',
    'slots': 'bigint', 'masked_in': 'bigint', 'encoded': 'bigint', 'path_change': 'double', 'control_equals_base': 'boolean',
    'base_parameters_trainable': 'bigint', 'base_parameters_with_gradient': 'bigint', 'adapter_parameters_with_gradient': 'bigint',
    'base_sha256_before': 'varchar', 'base_sha256_after': 'varchar',
    'sites': 'struct(layer bigint, gate double, memory_delta_norm double, hidden_norm_ratio double, control_delta_norm double)[]',
    'facts': 'struct(place bigint, store_id varchar, concept_id varchar, member_id varchar, own_effect double)[]',
    'controls': 'struct(control varchar, rival varchar, measured double, expected varchar, is_held boolean)[]'
}) }}
