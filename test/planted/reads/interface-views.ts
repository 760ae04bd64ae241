/** Bugs in how failed interface views and counters of reassignments are decoded and stored. */
import type { PlantedArea } from '../planted.ts';

const test = 'store/views-and-counters.test.ts';
const views = { test, only: 'views of' };
const counters = { test, only: 'reassignment counters of' };

export const interfaceViews: PlantedArea = {
  name: 'interface-views',
  defects: [
    {
      name: 'a failed view is stored as one that was computed',
      file: 'src/model/batch.ts',
      line: 'view.statusCode,',
      instead: '0,',
      ...views,
    },
    {
      name: 'failed views are left out',
      file: 'src/model/batch.ts',
      line: 'for (const view of event.interfaceViews) {',
      instead: 'for (const view of event.interfaceViews.filter(({ statusCode }) => statusCode === 0)) {',
      ...views,
    },
    {
      name: 'a failed view gets an empty value',
      file: 'src/ledger/frames/decode-event.ts',
      line: "view: payloadOf(view['viewValue']),",
      instead: "view: payloadOf(view['viewValue']) ?? '{}',",
      ...views,
    },
    {
      name: 'a failed view loses its message where the participant sent details',
      file: 'src/ledger/frames/decode-event.ts',
      line: "statusMessage: textAt(status, 'message', `${path}.viewStatus`),",
      instead:
        "statusMessage: details !== null && !emptyArrayPattern.test(stringOf(details)) ? null : textAt(status, 'message', path),",
      ...views,
    },
    {
      name: 'an assignment restarts the reassignment counter',
      file: 'src/model/batch.ts',
      line: "const activation = { origin: 'assign', synchronizerPk, reassignmentCounter, workflowId: null } as const;",
      instead:
        "const activation = { origin: 'assign', synchronizerPk, reassignmentCounter: reassignmentCounter && 1, workflowId: null } as const;",
      ...counters,
    },
    {
      name: 'the seed forgets how often a contract was reassigned',
      file: 'src/model/batch.ts',
      line: "reassignmentCounter: entry.kind === 'active' ? entry.reassignmentCounter : null,",
      instead: "reassignmentCounter: entry.kind === 'active' ? entry.reassignmentCounter && 0 : null,",
      ...counters,
    },
    {
      name: 'a counter that the ledger does not send becomes 0',
      file: 'src/ledger/frames/decode-event.ts',
      line: "reassignmentCounter: integerAt(event, 'reassignmentCounter', path),",
      instead: "reassignmentCounter: integerAt(event, 'reassignmentCounter', path) ?? 0,",
      ...counters,
    },
    {
      name: 'a contract that was in flight at the seed counts as if it had not left',
      file: 'src/model/batch.ts',
      line: 'event.reassignmentCounter,\n      event.assignmentExclusivity,',
      instead:
        'isIncomplete && event.reassignmentCounter !== null ? event.reassignmentCounter - 1 : event.reassignmentCounter,\n      event.assignmentExclusivity,',
      ...counters,
    },
  ],
};
