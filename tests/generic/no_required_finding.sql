{#- Attach to a rule model: its findings that fail the build, namely of a MUST up to the level its store declares, and neither waived nor in the baseline (L3).
    They are read from `findings`, where levels, waivers and who must act are joined; the model gives the rule its name and its place in
    the graph. Failing rows name records and rules and hold no record's value. -#}
{% test no_required_finding(model) %}
{{ config(severity='error') }}
{{ governed_memory.findings_of('error') }}
{% endtest %}
