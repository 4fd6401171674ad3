{#- The keys of those rows whose writer owned their concept when they were written (T8): the register's latest entry by then, whether the
    day of writing is recorded or only since when the row holds; with neither, a sole entry that has no start. `rows` names a clause with
    the keys, store_id, concept_id, written_by, recorded_at and valid_from. -#}
{% macro written_by_owner(rows, keys, known_on=none) -%}
    select {% for key in keys %}written.{{ key }}{{ ', ' if not loop.last }}{% endfor %}
    from {{ rows }} as written
    inner join {{ governed_memory.relation('concept_ownerships') }} as register
        on written.concept_id = register.concept_id and written.store_id = coalesce(register.store_id, written.store_id)
        {% if known_on %} and (register.recorded_at is null or {{ governed_memory.is_known('register.recorded_at', known_on) }}) {% endif %}
    group by {% for key in keys %}written.{{ key }}, {% endfor %} written.written_by
    having
        written.written_by = {{ governed_memory.latest_owner('register', 'coalesce(register.valid_from <= coalesce(written.recorded_at, written.valid_from), register.valid_from is null)') }}
        and (max(coalesce(written.recorded_at, written.valid_from)) is not null or count(*) = 1)
{%- endmacro %}

{#- The owner that the register's last entry names, of those that meet a condition: the latest to begin, then the latest recorded. An entry
    without a party says that nobody owns the concept from then on. -#}
{% macro latest_owner(register, condition='true') -%}
    nullif(
        arg_max(
            coalesce({{ register }}.party_id, ''),
            (coalesce({{ register }}.valid_from, date '0001-01-01'), coalesce({{ register }}.recorded_at, timestamp '0001-01-01'))
        ) filter (where {{ condition }}),
        ''
    )
{%- endmacro %}

{#- Whether a row of record_rows names several parties as the one owner of its concept, as an export does of a catalogue's term with several owners. -#}
{% macro names_several_owners() -%}
    coalesce(malformed_field is not null and list_unique(try_cast(try_cast(concept_owner as json) as varchar[])) > 1, false)
{%- endmacro %}

{#- Who must act (L5), as a clause `acting`: the rows of a clause with store_id, concept_id, claimed_owner and claimed_role, and beside each the
    party and its role. The concept's owner in the register on the build's date; where the register does not name the concept, the owner that
    is claimed; else the store's steward. -#}
{% macro acting(rows) -%}
routed as (
    select
        waiting.* exclude (claimed_owner, claimed_role),  -- noqa: RF02
        -- an entry without a party says that nobody owns the concept, whatever a record claims
        case when owners.concept_id is null then waiting.claimed_owner else owners.party_id end as owner_party,
        case when owners.party_id is null or owners.party_id = waiting.claimed_owner then waiting.claimed_role end as role_at_owner,
        stores.steward_party,
        stores.steward_role
    from {{ rows }} as waiting
    inner join {{ governed_memory.relation('stores') }} as stores on waiting.store_id = stores.store_id
    left join {{ governed_memory.relation('int_registered_owners') }} as owners
        on waiting.concept_id = owners.concept_id and waiting.store_id = owners.store_id
),

acting as (
    select
        routed.* exclude (owner_party, role_at_owner, steward_party, steward_role),  -- noqa: RF02
        coalesce(routed.owner_party, routed.steward_party) as party_id,
        case when routed.owner_party is not null then coalesce(parties.owner_role, routed.role_at_owner) else routed.steward_role end as party_role
    from routed
    left join {{ governed_memory.relation('parties') }} as parties on routed.owner_party = parties.party_id
)
{%- endmacro %}
