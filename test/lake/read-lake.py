"""Prints the rows of a typed table and the parties of contracts as JSON: read-lake.py ENGINE files|delta LAKE TABLE."""
import datetime
import glob
import json
import os
import sys

engine, form, lake, table = sys.argv[1:]
epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def arrow_rows(name):
    folder = f'{lake}/{name}'
    if form == 'delta':
        from deltalake import DeltaTable

        found = DeltaTable(folder).to_pyarrow_table()
    else:
        import pyarrow
        import pyarrow.parquet

        found = pyarrow.concat_tables(map(pyarrow.parquet.read_table, sorted(glob.glob(f'{folder}/*.parquet'))))
    return found.sort_by('created_at_offset').to_pylist()


def clickhouse_rows(name, expressions):
    import chdb

    folder = f'{lake}/{name}'
    source = f"deltaLakeLocal('{folder}')" if form == 'delta' else f"file('{folder}/*.parquet')"
    sql = f'select {expressions} from {source} x order by x.created_at_offset'
    return [json.loads(line) for line in str(chdb.query(sql, 'JSONEachRow')).splitlines() if line]


def clickhouse_typed():
    numbers = ', '.join(f'toString(x.{name}) as {name}' for name in ('ten', 'none', 'most', 'whole'))
    # Its own texts of days and times begin with the year 1900; what it holds goes further.
    rows = clickhouse_rows(table, f"""{numbers}, x.truth as truth, x.words as words, x.list as list, toInt32(x.day) as days,
        if(x.moment is null, null, toString(toUnixTimestamp64Micro(assumeNotNull(x.moment)))) as micros""")
    for row in rows:
        row['moment'] = None if row['micros'] is None else int(row['micros'])
        days = row['days']
        row['day'] = None if days is None else datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
    return rows


def digits(value):
    if value is None:
        return None
    text = value if isinstance(value, str) else format(value, 'f')
    return text.rstrip('0').rstrip('.') if '.' in text else text


def micros(value):
    if value is None or isinstance(value, int):
        return None if value is None else str(value)
    return str((value - epoch) // datetime.timedelta(microseconds=1))


def shown(row):
    numbers = [digits(row[name]) for name in ('ten', 'none', 'most')]
    whole = None if row['whole'] is None else str(row['whole'])
    truth = None if row['truth'] is None else str(row['truth']).lower()
    day = None if row['day'] is None else row['day'].isoformat()
    return [*numbers, whole, truth, micros(row['moment']), day]


if engine == 'clickhouse':
    rows = clickhouse_typed()
    contracts = clickhouse_rows('contracts', 'x.signatories as signatories, x.observers as observers')
else:
    rows = arrow_rows(table)
    contracts = arrow_rows('contracts')
print(json.dumps({
    'rows': [shown(row) for row in rows],
    'words': [row['words'] for row in rows],
    'lists': [row['list'] for row in rows],
    'parties': [[row['signatories'], row['observers']] for row in contracts],
}))
sys.stdout.flush()
# An engine's threads are not waited for.
os._exit(0)
