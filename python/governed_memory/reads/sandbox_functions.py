"""Functions that governed SQL may call. Left out is whatever reads files, settings, the catalogue, the environment or another query's text."""

from __future__ import annotations

NAMES = """
    any_value approx_count_distinct approx_quantile arbitrary arg_max arg_min argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or
    corr count count_if count_star countif covar_pop covar_samp entropy favg first fsum geomean group_concat histogram kurtosis last list listagg mad
    max max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_slope skewness stddev stddev_pop stddev_samp
    string_agg sum sum_no_overflow var_pop var_samp variance

    row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value last_value nth_value

    abs acos asin atan atan2 ceil ceiling cos cot degrees divide even exp fdiv floor fmod gamma gcd greatest isfinite isinf isnan lcm least lgamma
    ln log log10 log2 mod pi pow power radians round sign sin sqrt tan trunc add subtract multiply xor

    ascii bar bit_length chr concat concat_ws contains damerau_levenshtein editdist3 ends_with format from_base64 hamming instr jaccard
    jaro_similarity jaro_winkler_similarity lcase left left_grapheme len length length_grapheme levenshtein like_escape ilike_escape not_like_escape
    not_ilike_escape lower lpad ltrim md5 nfc_normalize ord position prefix printf regexp_extract regexp_extract_all regexp_full_match
    regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme rpad rtrim sha256 split split_part
    starts_with str_split str_split_regex string_split string_split_regex string_to_array strip_accents strlen strpos substr substring
    substring_grapheme suffix to_base64 translate trim ucase unicode upper url_decode url_encode hash

    coalesce if ifnull nullif constant_or_null typeof

    age century current_date date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
    dayofweek dayofyear decade epoch epoch_ms extract hour isodow isoyear last_day make_date make_timestamp millennium minute month monthname
    quarter second strftime strptime time_bucket to_days to_months to_weeks to_years today try_strptime week weekday weekofyear year yearweek

    aggregate apply array_append array_apply array_cat array_concat array_contains array_distinct array_extract array_filter array_has array_has_all
    array_has_any array_length array_position array_prepend array_reverse array_slice array_sort array_to_string array_transform array_unique
    filter flatten generate_series list_aggr list_aggregate list_any_value list_append list_apply list_avg list_cat list_concat list_contains
    list_count list_distinct list_extract list_filter list_first list_has list_has_all list_has_any list_indexof list_intersect list_last
    list_max list_median list_min list_position list_prepend list_reduce list_reverse list_reverse_sort list_slice list_sort list_string_agg
    list_sum list_transform list_unique list_value list_where list_zip range reduce unnest unpivot_list

    map map_entries map_extract map_from_entries map_keys map_values element_at row struct_extract struct_extract_at struct_insert struct_pack

    array_to_json from_json json json_array json_array_length json_contains json_exists json_extract json_extract_path json_extract_path_text
    json_extract_string json_group_array json_group_object json_keys json_object json_quote json_type json_valid json_value row_to_json to_json
"""
FUNCTIONS = frozenset(NAMES.split())
