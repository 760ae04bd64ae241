/**
 * Filters and formats of requests. Names are always in the form `#package-name:Module:Entity`; package ids in filters
 * are refused since 3.5. Source: the descriptions of the node (OpenAPI 3.5.10).
 */

export interface WildcardFilter {
  readonly WildcardFilter: { readonly value: { readonly includeCreatedEventBlob?: boolean } };
}

export interface TemplateFilter {
  readonly TemplateFilter: {
    readonly value: { readonly templateId: string; readonly includeCreatedEventBlob?: boolean };
  };
}

export interface InterfaceFilter {
  readonly InterfaceFilter: {
    readonly value: {
      readonly interfaceId: string;
      readonly includeInterfaceView?: boolean;
      readonly includeCreatedEventBlob?: boolean;
    };
  };
}

/** Entries are combined with OR; no entry at all is a wildcard. */
export interface Filters {
  readonly cumulative?: readonly { readonly identifierFilter?: WildcardFilter | TemplateFilter | InterfaceFilter }[];
}

/** At least one of the two filters is required. */
export interface EventFormat {
  readonly filtersByParty?: Readonly<Record<string, Filters>>;
  /** Needs CanReadAsAnyParty. */
  readonly filtersForAnyParty?: Filters;
  /** Has no effect in JSON. */
  readonly verbose?: boolean;
}

export interface TransactionFormat {
  readonly eventFormat: EventFormat;
  /** `TRANSACTION_SHAPE_ACS_DELTA` or `TRANSACTION_SHAPE_LEDGER_EFFECTS`. */
  readonly transactionShape: string;
}

/** Omitted parts are not returned; `{}` returns only checkpoints. */
export interface UpdateFormat {
  readonly includeTransactions?: TransactionFormat;
  readonly includeReassignments?: EventFormat;
  readonly includeTopologyEvents?: {
    /** An empty list means all parties and needs CanReadAsAnyParty. */
    readonly includeParticipantAuthorizationEvents?: { readonly parties?: readonly string[] };
  };
}

/** The filter of the legacy requests (`filter`, `verbose`), which cannot be combined with the formats. */
export interface TransactionFilter {
  readonly filtersByParty?: Readonly<Record<string, Filters>>;
  readonly filtersForAnyParty?: Filters;
}
