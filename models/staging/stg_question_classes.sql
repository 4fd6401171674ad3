{{ governed_memory.register('question_classes', {'question_class_id': 'varchar', 'description': 'varchar'}, key=['question_class_id']) }}
