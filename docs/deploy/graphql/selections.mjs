// How much a request may select. Fragments that spread others twice each double what is selected with every one of them, and the
// server plans each field: of 28 such fragments, a kilobyte, it did not come back. So fields are counted before anything
// else is done with a request, each fragment once.
import { SafeError } from 'postgraphile/grafast';
import { GraphQLError, Kind, parse } from 'postgraphile/graphql';

/** Of a request that is read at all: its size is limited in bytes already. */
const mostTokens = 20_000;

/** @param most fields, spreads and inline fragments of one request, fragments counted wherever they are spread */
export function selectionsPlugin(most) {
  return {
    name: 'LedgerSelectionsPlugin',
    version: '1.0.0',
    grafserv: {
      middleware: {
        async processGraphQLRequestBody(next, event) {
          // Another plugin may know the text of a document by its id.
          const done = await next();
          if (typeof event.body.query === 'string') refuseLarge(event.body.query, most);
          return done;
        },
      },
    },
  };
}

function refuseLarge(query, most) {
  let document;
  try {
    document = parse(query, { noLocation: true, maxTokens: mostTokens });
  } catch (thrown) {
    // Who made a mistake is told by the server where it is; nested too deep, it is nobody's mistake.
    if (thrown instanceof GraphQLError && !thrown.message.includes(`${mostTokens} tokens`)) return;
    throw refused(`The request has more than ${mostTokens} tokens, or is nested too deep`);
  }
  if (new Selections(document).most() > most) {
    throw refused(`The request selects more than ${most} fields, with fragments counted wherever they are spread`);
  }
}

class Selections {
  #fragments = new Map();
  #counts = new Map();
  #operations = [];

  constructor({ definitions }) {
    for (const definition of definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(definition.name.value, definition);
      else if (definition.kind === Kind.OPERATION_DEFINITION) this.#operations.push(definition);
    }
  }

  /** Of the definition that selects most. Fragments that nobody spreads are looked at as well when a request is validated. */
  most() {
    const counts = this.#operations.map(({ selectionSet }) => this.#within(selectionSet));
    for (const name of this.#fragments.keys()) counts.push(this.#ofFragment(name));
    return Math.max(0, ...counts);
  }

  #ofFragment(name) {
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    // One that spreads itself is refused later, with its place.
    this.#counts.set(name, 0);
    const count = fragment === undefined ? 0 : this.#within(fragment.selectionSet);
    this.#counts.set(name, count);
    return count;
  }

  #within(selectionSet) {
    let count = 0;
    for (const selection of selectionSet?.selections ?? []) {
      count += 1;
      count +=
        selection.kind === Kind.FRAGMENT_SPREAD
          ? this.#ofFragment(selection.name.value)
          : this.#within(selection.selectionSet);
    }
    return count;
  }
}

function refused(message) {
  return new SafeError(message, { statusCode: 400 });
}
