select x.s from (select secret as s, name from {{ source('raw', 'people') }}) as x
