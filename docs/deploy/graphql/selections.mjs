// Limits the selections of a request. A fragment that spreads another fragment twice doubles the number of selections, and
// the server plans each field: a request of one kilobyte with 28 such fragments never returned. So fields are counted before
// any other processing of a request, each fragment once.
import { SafeError } from 'postgraphile/grafast';
import { GraphQLError, Kind, parse } from 'postgraphile/graphql';

/** Maximum number of tokens that are parsed: the size of a request is limited in bytes already. */
const mostTokens = 20_000;

/** @param most fields, spreads and inline fragments of one request, fragments counted wherever they are spread */
export function selectionsPlugin(most) {
  return {
    name: 'LedgerSelectionsPlugin',
    version: '1.0.0',
    grafserv: {
      middleware: {
        async processGraphQLRequestBody(next, event) {
          // The request may have only the id of a document; another plugin finds its text.
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
    // The server reports syntax errors with their position; a document that is nested too deeply has no such error.
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

  /** Maximum over all definitions. Unused fragments count, because validation processes them too. */
  most() {
    const counts = this.#operations.map(({ selectionSet }) => this.#within(selectionSet));
    for (const name of this.#fragments.keys()) counts.push(this.#ofFragment(name));
    return Math.max(0, ...counts);
  }

  #ofFragment(name) {
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const fragment = this.#fragments.get(name);
    // A fragment that spreads itself is rejected later, with its position.
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
