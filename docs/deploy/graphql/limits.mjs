// Limits every list: at most `schema.maxRows` rows, by default a page. A larger request is
// rejected, not truncated, because a silently truncated list looks complete.
import { lambda, SafeError } from 'postgraphile/grafast';

const page = 100;

export const LimitsPlugin = {
  name: 'LedgerLimitsPlugin',
  version: '1.0.0',
  schema: {
    hooks: {
      GraphQLObjectType_fields_field_args_arg(arg, build, context) {
        const { scope } = context;
        if (scope.argName !== 'first' || !(scope.isPgFieldConnection || scope.isPgFieldSimpleCollection)) return arg;
        const { maxRows } = build.options;
        return {
          ...arg,
          defaultValue: Math.min(page, maxRows),
          description: `Maximum number of rows; at most ${maxRows}.`,
          applyPlan(_, $rows, asked) {
            $rows.setFirst(lambda(asked.getRaw(), (first) => within(first, maxRows)));
          },
        };
      },
    },
  },
};

function within(first, maxRows) {
  if (first == null) return maxRows;
  if (first >= 0 && first <= maxRows) return first;
  throw new SafeError(`first: ${first} is not between 0 and ${maxRows}`);
}
