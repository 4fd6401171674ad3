{{ governed_memory.unregistered_names(
    'question_class_unknown',
    'question_classes',
    'question_class_id',
    {'applies_to': 'unnest(applies_to)', 'does_not_apply_to': 'unnest(does_not_apply_to)'}
) }}
