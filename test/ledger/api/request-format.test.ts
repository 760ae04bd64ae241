import { describe, expect, it } from 'vitest';
import { releaseOf, unreadRelease } from '../../../src/ledger/api/release.ts';
import {
  activeContractsRequest,
  eventFormat,
  filterFingerprint,
  updatesRequest,
  type LedgerFilter,
} from '../../../src/ledger/api/request-format.ts';

const fullFilter: LedgerFilter = {
  parties: [],
  templates: [],
  interfaces: [],
  createdEventBlobs: false,
  shape: 'LEDGER_EFFECTS',
  topology: true,
};
const wildcard = { identifierFilter: { WildcardFilter: { value: { includeCreatedEventBlob: false } } } };

describe('request format', () => {
  it('includes all contracts of all parties if no filter is configured', () => {
    expect(updatesRequest(7, fullFilter)).toEqual({
      beginExclusive: 7,
      updateFormat: {
        includeTransactions: {
          eventFormat: { filtersByParty: {}, filtersForAnyParty: { cumulative: [wildcard] }, verbose: false },
          transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS',
        },
        includeReassignments: {
          filtersByParty: {},
          filtersForAnyParty: { cumulative: [wildcard] },
          verbose: false,
        },
        includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties: [] } },
      },
    });
  });

  it('contains the same filters for every party, and no filter for all parties', () => {
    const format = eventFormat({ ...fullFilter, parties: ['A', 'B'], templates: ['#p:M:T'], createdEventBlobs: true });
    const filters = {
      cumulative: [
        { identifierFilter: { TemplateFilter: { value: { templateId: '#p:M:T', includeCreatedEventBlob: true } } } },
      ],
    };
    expect(format).toEqual({ filtersByParty: { A: filters, B: filters }, verbose: false });
  });

  it('adds interface views to a wildcard filter, or to the template filters if configured', () => {
    const view = {
      identifierFilter: {
        InterfaceFilter: {
          value: { interfaceId: '#p:M:I', includeInterfaceView: true, includeCreatedEventBlob: false },
        },
      },
    };
    const interfaceOnlyFormat = eventFormat({ ...fullFilter, interfaces: ['#p:M:I'] });
    expect(interfaceOnlyFormat.filtersForAnyParty).toEqual({ cumulative: [wildcard, view] });
    const eventFormatBoth = eventFormat({ ...fullFilter, interfaces: ['#p:M:I'], templates: ['#p:M:T'] });
    expect(eventFormatBoth.filtersForAnyParty?.cumulative).toHaveLength(2);
    expect(JSON.stringify(eventFormatBoth)).not.toContain('Wildcard');
  });

  it('includes only contracts that implement the interfaces if onlyInterfaces is set', () => {
    const format = eventFormat({ ...fullFilter, interfaces: ['#a:B:C'], onlyInterfaces: true });
    expect(format.filtersForAnyParty?.cumulative).toHaveLength(1);
    expect(JSON.stringify(format)).toContain('InterfaceFilter');
  });

  it('has the same event format for seed and stream, without deprecated fields', () => {
    const seed = activeContractsRequest(5, fullFilter, releaseOf('3.6.2'), 'token');
    const follow = updatesRequest(5, { ...fullFilter, topology: false });
    expect(seed.eventFormat).toEqual(follow.updateFormat.includeTransactions.eventFormat);
    expect(Object.keys(seed)).toEqual(['activeAtOffset', 'eventFormat', 'streamContinuationToken']);
    expect(Object.keys(activeContractsRequest(5, fullFilter, unreadRelease))).toEqual([
      'activeAtOffset',
      'eventFormat',
    ]);
    expect(Object.keys(follow)).toEqual(['beginExclusive', 'updateFormat']);
    expect(follow.updateFormat).not.toHaveProperty('includeTopologyEvents');
  });

  it.each([
    ['3.4.12', false],
    ['3.6.2', false],
    ['3.7.0-SNAPSHOT', true],
    ['3.7.4', true],
    ['4.0.0', true],
    ['main', false],
  ])('requests reassignments in flight from a participant of version %s: %s', (version, isSent) => {
    const request = activeContractsRequest(5, fullFilter, releaseOf(version), 'token');
    const sentParameters = isSent ? ['includeIncompleteReassignments'] : [];
    expect(Object.keys(request)).toEqual([
      'activeAtOffset',
      'eventFormat',
      ...sentParameters,
      'streamContinuationToken',
    ]);
    if (isSent) expect(request.includeIncompleteReassignments).toBe(true);
  });

  it('has a filter hash that does not depend on the order of the parties', () => {
    const filter = { ...fullFilter, wantedInterfaces: ['tokens'] };
    const fingerprint = filterFingerprint({ ...filter, parties: ['B', 'A', 'A'] });
    expect(fingerprint.hash).toMatch(/^[0-9a-f]{64}$/u);
    expect(filterFingerprint({ ...filter, parties: ['A', 'B'] })).toEqual(fingerprint);
    for (const otherChange of [{ shape: 'ACS_DELTA' as const }, { topology: false }, { createdEventBlobs: true }]) {
      expect(filterFingerprint({ ...filter, parties: ['A', 'B'], ...otherChange }).hash).not.toBe(fingerprint.hash);
    }
  });
});
