/** The few types of the standard library that the demo's packages use. */
import { record } from '../../daml-lf/declaration.ts';
import { writePackage } from '../../daml-lf/package-writer.ts';

export const pairTypes = writePackage({
  name: 'daml-prim-DA-Types',
  version: '1.0.0',
  imports: [],
  modules: { 'DA.Types': { Tuple2: record({ _1: 't1', _2: 't2' }, 't1', 't2') } },
});

export const timeTypes = writePackage({
  name: 'daml-stdlib-DA-Time-Types',
  version: '1.0.0',
  imports: [],
  modules: { 'DA.Time.Types': { RelTime: record({ microseconds: 'Int' }) } },
});

export const templateTypes = writePackage({
  name: 'ghc-stdlib-DA-Internal-Template',
  version: '1.0.0',
  imports: [],
  modules: { 'DA.Internal.Template': { Archive: record({}) } },
});

/** All packages of the library. */
export const library = [pairTypes, timeTypes, templateTypes];
