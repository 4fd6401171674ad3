{#- Giver and taker of one thing, side by side (M11). What was given and not taken yet is no fault, but for what an ingest has put into the log: this
    build has read that, unless retention has removed it or the log is none of this build's. -#}
with

told as (
    select
        step,
        side,
        generation,
        root,
        told_at
    from {{ governed_memory.relation('stg_handovers') }}
    union all
    select
        step,
        side,
        generation,
        root,
        told_at
    from {{ governed_memory.relation('build_handover') }}
    union all
    select
        'ingest' as step,
        'taker' as side,
        chains.generation,
        chains.chain as root,
        builds.built_at as told_at
    from {{ governed_memory.relation('stg_handed_chains') }} as chains
    cross join {{ governed_memory.relation('stg_build') }} as builds
),

pairs as (
    select
        step,
        generation,
        min(root) filter (where side = 'giver') as given_root,
        count(distinct root) filter (where side = 'giver') as given_roots,
        min(told_at) filter (where side = 'giver') as given_at,
        coalesce(list(distinct root order by root) filter (where side = 'taker'), []) as taken_roots,
        max(told_at) filter (where side = 'taker') as taken_at
    from told
    group by step, generation
),

streams as (
    select
        writer || '/' || stream || '/' as of_stream,
        pruned_seq
    from {{ governed_memory.relation('stg_log_heads') }}
),

handovers as (
    select
        pairs.step,
        pairs.generation,
        pairs.given_root,
        pairs.given_at,
        pairs.taken_roots,
        pairs.taken_at,
        case
            when pairs.given_roots = 0 then 'not_given'
            when pairs.given_roots > 1 then 'given_twice'
            when not list_has_all([pairs.given_root], pairs.taken_roots) then 'root_differs'
            when
                pairs.step = 'ingest' and len(pairs.taken_roots) = 0
                and logs.stream_count > 0
                and coalesce(streams.pruned_seq, 0) < regexp_extract(pairs.generation, '[0-9]+$')::bigint
                then 'lost'
        end as problem
    from pairs
    cross join (select count(*) as stream_count from {{ governed_memory.relation('stg_log_heads') }}) as logs
    left join streams on pairs.step = 'ingest' and regexp_replace(pairs.generation, '[0-9]+$', '') = streams.of_stream
)

select * from handovers
