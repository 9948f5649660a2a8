/** Of the identity service. */
import { type Equivalent, of } from './equivalent.ts'

const revocation = 'apps/identity/src/registry/revocation'
const noState = 'no state of the store has this number or mark'
const noExcess = 'it saves the search for accounts; without an excess, no account is folded'
const decodesNothing = 'it saves decoding a text without escapes, which stays as it is'

const noSecret = 'neither text has the form of a secret'
const signIns = 'apps/identity/src/registry/sign-ins'

const federation = 'apps/identity/src/tokens/federation'
const noJson = 'neither text is JSON in base64url, so the token is no JWT'

const nodes = 'apps/identity/src/registry/nodes'
const searched = "search === '' ? fixed('nodes WHERE') : found(accountId, search),"
const findsAll = 'every node of an account has a row with its names, and each has the text ""'

export const identity: readonly Equivalent[] = [
  ...of(
    'apps/identity/src/api/endpoints/cors.ts',
    ['} catch {', '{ return undefined } → {}', 'a function without a result returns undefined'],
    [
      'const client = token === undefined ? undefined : parseJws(token).payload.client_id',
      'token === undefined → false',
      'what is no text is no token either, and reading it fails',
    ],
    [
      "const client = Object.hasOwn(clients, request.routeOptions.url ?? '')",
      '\'\' → "Stryker was here!"',
      'neither text is a path of an endpoint',
    ],
  ),
  ...of(
    'apps/identity/src/registry/projects/issuer-key-sets.ts',
    [
      'if (!row) return undefined',
      '!row → false',
      'a row that is absent cannot be read, as one that is no JSON',
    ],
    ['} catch {', '{ return undefined } → {}', 'a function without a result returns undefined'],
  ),
  ...of(
    `${federation}/read-claimed.ts`,
    ["const [header = '', payload = ''] = token.split('.', 2)", '\'\' → "Stryker was here!"', noJson],
    ['} catch {', '{ return undefined } → {}', 'a function without a result returns undefined'],
  ),
  ...of(
    `${nodes}/node-filter.ts`,
    [searched, "search === '' → false", findsAll],
    [searched, '\'\' → "Stryker was here!"', findsAll],
    ...[
      "at === 0 && search === '' → true",
      "at === 0 && search === '' → false",
      "at === 0 && search === '' → at === 0 || search === ''",
      'at === 0 → true',
      'at === 0 → at !== 0',
      "search === '' → true",
      "search === '' → search !== ''",
      '\'\' → "Stryker was here!"',
    ].map(
      (change) =>
        [
          "...wanted.map(([kind, value], at) => withFacet(accountId, kind, value, at === 0 && search === '')),",
          change,
          'both conditions find the same nodes; it decides which index is read first',
        ] as const,
    ),
  ),
  ...of(`${nodes}/node-lists.ts`, [
    "const directionOf = (isDescending: boolean): string => (isDescending ? 'DESC' : 'ASC')",
    '\'ASC\' → ""',
    'SQL sorts in ascending order without a word, too',
  ]),
  ...of(`${federation}/issuer-keys.ts`, [
    '} catch {',
    '{ return undefined } → {}',
    'a function without a result returns undefined',
  ]),
  ...of(
    `${federation}/verify-by-rules.ts`,
    ["const name = algorithms.join(' ')", '\' \' → ""', 'no name of an algorithm is a part of two others'],
    [
      "const verified = issuerKeys.verifierOf(named).verify(token, profileOf(rules), '')",
      '\'\' → "Stryker was here!"',
      'the profile has no audience: rules check it',
    ],
    [
      'if (own.underWay === 0) waiting.delete(accountId)',
      'own.underWay === 0 → false',
      'an empty entry counts no issuer; it only needs memory',
    ],
    [
      'if (own.underWay === 0) waiting.delete(accountId)',
      'waiting.delete(accountId) → ;',
      'an empty entry counts no issuer; it only needs memory',
    ],
  ),
  ...of(
    'packages/service-kit/src/oauth/form.ts',
    [
      "if (!text.includes('%') && !text.includes('+')) return text",
      "!text.includes('%') && !text.includes('+') → false",
      decodesNothing,
    ],
    ["if (!text.includes('%') && !text.includes('+')) return text", '\'%\' → ""', decodesNothing],
    ["if (!text.includes('%') && !text.includes('+')) return text", '\'+\' → ""', decodesNothing],
  ),
  ...of(`${revocation}/entries.ts`, [
    "const endings = kind === 'folded' ? this.#folded : this.#endings",
    "kind === 'folded' → kind !== 'folded'",
    'both maps are treated alike',
  ]),
  ...of(
    `${revocation}/folding.ts`,
    ['if (listed <= bounds.inAll) return', 'listed <= bounds.inAll → false', noExcess],
    ['if (listed <= bounds.inAll) return', 'listed <= bounds.inAll → listed < bounds.inAll', noExcess],
  ),
  ...of(
    `${revocation}/list.ts`,
    ["let state: ListState = { seq: -1, mark: '' }", '-1 → +1', noState],
    ["let state: ListState = { seq: -1, mark: '' }", '\'\' → "Stryker was here!"', noState],
    [
      "return since.seq > state.seq ? 'unchanged' : answerSince(since.seq)",
      'since.seq > state.seq → since.seq >= state.seq',
      'a known state with the same number has the same mark, and was answered before',
    ],
  ),
  ...of(
    `${revocation}/revocations.ts`,
    [
      "edgeReasonFor({ jti, iat, node_id = '' }) {",
      '\'\' → "Stryker was here!"',
      'no node has either text as its ID',
    ],
    [
      'newest = rows.reduce((latest, row) => Math.max(latest, row.epoch as number), newest)',
      'Math.max(latest, row.epoch as number) → Math.min(latest, row.epoch as number)',
      'rows that are known already are read again',
    ],
    [
      'return all !== undefined && epoch < all.epoch && notBefore + skewSeconds < all.notBefore',
      'epoch < all.epoch → epoch <= all.epoch',
      'one transaction does not take a minute',
    ],
    [
      'if (known.all().size === 0) return undefined',
      'known.all().size === 0 → false',
      'it saves the search among no entries',
    ],
  ),
  ...of(
    `${signIns}/sign-ins.ts`,
    [
      'if (rows!.length === 0 && !(await rowOf(sid)))',
      'rows!.length === 0 → true',
      'it saves the search for the row that was just written',
    ],
    [
      'if (!rows[0]) return lookBack(sid, generation)',
      '!rows[0] → true',
      'a token that was just rotated is within its grace period, and has the same successor',
    ],
  ),
  ...of('apps/identity/src/registry/credentials/passkey-answer.ts', [
    '} catch {',
    '{ return undefined } → {}',
    'a function without a result returns undefined',
  ]),
  ...of(
    'apps/identity/src/api/console/cookie.ts',
    [
      "if (key === name && secretShape.test(value ?? '') && secrets.size < maxSecrets) secrets.add(value!)",
      '\'\' → "Stryker was here!"',
      noSecret,
    ],
    ["read(header = '') {", '\'\' → "Stryker was here!"', noSecret],
  ),
]
