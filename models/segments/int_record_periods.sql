{#- record_intervals without what the records say: for rules, which need the dates of every record and no more. -#}
{{ governed_memory.intervals(with_content=false) }}
