-- depends_on: {{ ref('first') }}
select 'what a macro pasted' as x
