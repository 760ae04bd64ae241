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
    # ClickHouse prints dates and times only from the year 1900 on, but stores earlier ones. Numbers have no such limit.
    rows = clickhouse_rows(table, f"""{numbers}, x.truth as truth, x.words as words, x.list as list, toInt32(x.day) as days,
        if(x.moment is null, null, toString(toUnixTimestamp64Micro(assumeNotNull(x.moment)))) as micros""")
    for row in rows:
        row['moment'] = None if row['micros'] is None else int(row['micros'])
        days = row['days']
        row['day'] = None if days is None else datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
    return rows


def spark_session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')
    # Spark prints days and times as JSON. A datetime of Python overflows if a time zone is added to its last day.
    for name, value in (('spark.sql.session.timeZone', 'UTC'), ('spark.driver.host', '127.0.0.1'),
                        ('spark.driver.bindAddress', '127.0.0.1'), ('spark.sql.shuffle.partitions', '1')):
        builder = builder.config(name, value)
    if form == 'delta':
        builder = builder.config('spark.jars', os.environ['LAKE_SPARK_JARS'])
        builder = builder.config('spark.sql.extensions', 'io.delta.sql.DeltaSparkSessionExtension')
        builder = builder.config('spark.sql.catalog.spark_catalog', 'org.apache.spark.sql.delta.catalog.DeltaCatalog')
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel('ERROR')
    return session


def spark_rows(name, expressions):
    folder = f'{lake}/{name}'
    read = spark.read.format('delta').load(folder) if form == 'delta' else spark.read.parquet(*sorted(glob.glob(f'{folder}/*.parquet')))
    found = read.orderBy('created_at_offset').selectExpr(*expressions).toJSON().collect()
    return [json.loads(line) for line in found]


def spark_typed():
    numbers = [f'cast({name} as string) as {name}' for name in ('ten', 'none', 'most', 'whole')]
    rows = spark_rows(table, [*numbers, 'truth', 'words', 'list', 'cast(day as string) as day', 'unix_micros(moment) as moment'])
    # Spark omits null values.
    whole = dict.fromkeys(('ten', 'none', 'most', 'whole', 'truth', 'words', 'list', 'day', 'moment'))
    rows = [{**whole, **row} for row in rows]
    for row in rows:
        row['day'] = None if row['day'] is None else datetime.date.fromisoformat(row['day'])
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
elif engine == 'spark':
    spark = spark_session()
    rows = spark_typed()
    contracts = spark_rows('contracts', ['signatories', 'observers'])
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
# Exits without waiting for the threads of the engine.
os._exit(0)
