-- The rate that applied to each invoice on its own day, for its own kind of contract. Put your table in place of the invoices here.
-- How to read it: one row per invoice, always. rate_status says whether the record could be joined: `in_force` yes; `no_record` nothing held
-- that day; `several_in_force` more than one did, and none is chosen; `withheld` the one that did is restricted; `no_date`, `no_concept`:
-- the invoice lacks it. docs/as_of_joins.md has more.
with

invoices (invoice_id, invoiced_on, rate_concept, contract_kind) as (
    values
    (1, date '2024-01-31', 'discount_cap', 'renewals'),
    (2, date '2024-02-01', 'discount_cap', 'renewals'),
    (3, date '2026-09-30', 'discount_cap', 'new contracts'),
    (4, date '2026-09-30', 'discount_cap', null),
    (5, date '2026-02-28', 'active_customer', 'renewals'),
    (6, date '2026-03-01', 'active_customer', null),
    (7, date '2026-03-01', 'salary_band_3', null),
    (8, null, 'discount_cap', 'renewals'),
    (9, date '2026-03-01', null, 'renewals')
),

rated as (
    {{ governed_memory.as_of_join(
        'invoices', 'invoiced_on', 'rate_concept', store='reference', scope_column='contract_kind', prefix='rate_'
    ) }}
)

select *
from rated
order by invoice_id
