with
invoices as (select * from (values (1, date '2026-09-30', 'data_retention'), (2, date '2026-10-01', 'data_retention')) as t (invoice_id, invoiced_on, concept))
select * from ({{ governed_memory.as_of_join('invoices', 'invoiced_on', 'concept', store='reference') }})
