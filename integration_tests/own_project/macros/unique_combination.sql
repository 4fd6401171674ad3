{#- A test of this project that has the name of one of the package's and other arguments. -#}
{% test unique_combination(model, of) %}
select {{ of | join(', ') }} from {{ model }}
group by all
having count(*) > 1
{% endtest %}
