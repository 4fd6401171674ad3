select x.name from (select secret as s, name from {{ source('raw', 'people') }}) as x
