{#- The words by which a record is found: each once, in order of their code points. A text is put in composed form and case is folded; a word is a
    run of letters, marks and digits, at most 64 characters of it. Scripts that set no spaces between words are cut into every two neighbouring
    characters, and into single ones too. So rule M5 has it of cells, whose words, like those of a question, are made by the same rule before they come
    here; records are never written here, so theirs are made by each build. -#}
{% macro words_of(text) -%}
    {%- set unspaced = '[\\x{0e00}-\\x{0eff}\\x{1000}-\\x{109f}\\x{1780}-\\x{17ff}\\x{3005}-\\x{3007}\\x{3040}-\\x{30ff}\\x{31f0}-\\x{31ff}'
        ~ '\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{f900}-\\x{faff}\\x{ff66}-\\x{ff9f}\\x{20000}-\\x{3ffff}]' -%}
    {%- set letter = '\\p{L}\\p{M}\\p{N}' -%}
    list_sort(list_distinct(list_transform([{{ governed_memory.folded(text) }}], lambda folded: list_concat(
        list_transform(
            regexp_extract_all(
                case when regexp_matches(folded, '{{ unspaced }}') then regexp_replace(folded, '{{ unspaced }}', ' ', 'g') else folded end,
                '[{{ letter }}]+'
            ),
            lambda word: left(word, 64)
        ),
        case when regexp_matches(folded, '{{ unspaced }}') then flatten(list_transform(
            regexp_extract_all(regexp_replace(folded, '[^{{ letter }}]', ' ', 'g'), '{{ unspaced }}+'),
            lambda run: list_concat(
                list_transform(range(1, length(run)), lambda place: substring(run, place, 2)),
                list_transform(range(1, length(run) + 1), lambda place: substring(run, place, 1))
            )
        )) end
    ))[1]))
{%- endmacro %}

{#- A text with case folded. Of what folds to something else than its lower case, the letters that are in use: long s, final sigma, micro, sharp s. -#}
{% macro folded(text) -%}
    nfc_normalize(replace(translate(lower(nfc_normalize({{ text }})), 'ſςµ', 'sσμ'), 'ß', 'ss'))
{%- endmacro %}
