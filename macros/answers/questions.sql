{#- Questions, in the shape that answers take them: question_number, store_id, concept_id, asked_on, asked_scope (a list, empty for none),
    caller_parties (a list) and caller_boundary. -#}

{#- The question of every concept that is held, each put to the stores that hold it. `held` is a relation of store_id and concept_id; a
    concept that the host has signed records of is asked about even where they were all removed (G9). -#}
{% macro every_concept(on_date, scope, parties, boundary, held) -%}
    select
        dense_rank() over (order by concept_id) as question_number,
        store_id,
        concept_id,
        cast({{ on_date }} as date) as asked_on,
        {{ scope }} as asked_scope,
        cast({{ parties }} as varchar[]) as caller_parties,
        {{ boundary }} as caller_boundary
    from {{ held }}
{%- endmacro %}

{#- The concepts that the build found scopes for. -#}
{% macro scoped_concepts() -%}
    (
        select store_id, concept_id
        from {{ governed_memory.relation('int_concept_scopes') }}
        where question_class_id is null
        union
        {{ governed_memory.signed_and_failed() }}
    )
{%- endmacro %}

{#- The concepts of one store or of all, and one of them or all, wherever int_concept_scopes is not built. -#}
{% macro one_or_all_held() -%}
    (
        select store_id, concept_id from (
            select store_id, concept_id
            from {{ governed_memory.relation('records') }}
            where concept_id is not null
            union
            {{ governed_memory.signed_and_failed() }}
        )
        where (__store__ is null or store_id = __store__) and (__concept__ is null or concept_id = __concept__)
    )
{%- endmacro %}

{% macro signed_and_failed() -%}
    select store_id, concept_id
    from {{ governed_memory.relation('stg_integrity_failures') }}
    where concept_id is not null
{%- endmacro %}

{#- One question as parameters, in the shape of `asked`. -#}
{% macro one_asked() -%}
    (select
        0 as question_number, $store_id::varchar as store_id, $concept_id as concept_id, $asked_on::date as asked_on,
        $asked_scope::varchar[] as asked_scope, $parties::varchar[] as caller_parties, $boundary as caller_boundary)
{%- endmacro %}
