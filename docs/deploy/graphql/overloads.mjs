// PostGraphile omits functions that share a name, and so all functions about the past. This plugin gives each a name of its
// own: the SQL name if the first argument is an offset, otherwise followed by the name of that argument (active_at,
// active_at_time, active_at_ago).
const bigint = '20';

function isOverloaded(introspection, pgProc) {
  return introspection.procs.some(
    (other) =>
      other.pronamespace === pgProc.pronamespace && other.proname === pgProc.proname && other._id !== pgProc._id,
  );
}

export const OverloadsPlugin = {
  name: 'LedgerOverloadsPlugin',
  version: '1.0.0',
  inflection: {
    replace: {
      functionResourceName(previous, _options, details) {
        const { pgProc } = details;
        const [first] = pgProc.getArguments();
        const isSaid = pgProc.isOverloaded !== true || first === undefined || first.type._id === bigint;
        return isSaid ? previous(details) : `${previous(details)}_${first.name}`;
      },
    },
  },
  gather: {
    hooks: {
      async pgIntrospection_proc({ helpers, resolvedPreset }, { entity: pgProc, serviceName }) {
        const service = resolvedPreset.pgServices.find(({ name }) => name === serviceName);
        if (!service.schemas.includes(pgProc.getNamespace().nspname)) return;
        const read = await helpers.pgIntrospection.getIntrospection();
        const { introspection } = read.find(({ pgService }) => pgService.name === serviceName);
        if (!isOverloaded(introspection, pgProc)) return;
        pgProc.isOverloaded = true;
        await helpers.pgProcedures.getResourceOptions(serviceName, pgProc);
      },
    },
  },
};
