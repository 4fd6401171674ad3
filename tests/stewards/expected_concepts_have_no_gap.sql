{{ config(severity='warn', meta={'maturity': 'experimental'}) }}
select * from {{ governed_memory.relation('concept_gaps') }}
