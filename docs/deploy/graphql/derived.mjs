// Projections that users added are views of schema derived. Each reads tables and functions of the same schema, one for
// each version of its SELECT. This plugin removes them: clients use the views only, and a table and a function of one
// name would be an error.
export function derivedPlugin(schema) {
  return {
    name: 'LedgerDerivedPlugin',
    version: '1.0.0',
    gather: {
      hooks: {
        pgIntrospection_introspection(_, { introspection: { namespaces, classes, procs } }) {
          const namespace = namespaces.find(({ nspname }) => nspname === schema)?._id;
          remove(classes, ({ relnamespace, relkind }) => relnamespace === namespace && relkind === 'r');
          remove(procs, ({ pronamespace }) => pronamespace === namespace);
        },
      },
    },
  };
}

/** Changes the array itself, because PostGraphile keeps a reference to it. */
function remove(entities, isRemoved) {
  const kept = entities.filter((entity) => !isRemoved(entity));
  entities.splice(0, entities.length, ...kept);
}
