{#- Nothing is listed: each row of the model is something wrong. -#}
{% test is_empty(model) %}
select * from {{ model }}
{% endtest %}
