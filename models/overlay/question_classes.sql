select * from {{ governed_memory.relation('stg_question_classes') }}
