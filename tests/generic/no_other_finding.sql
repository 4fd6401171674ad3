{#- Attach to a rule model: its findings that only warn, namely of a SHOULD, or of a MUST above the level its store declares (L3). See
    no_required_finding, of which it is the other half. -#}
{% test no_other_finding(model) %}
{{ config(severity='warn') }}
{{ governed_memory.findings_of('warning') }}
{% endtest %}
