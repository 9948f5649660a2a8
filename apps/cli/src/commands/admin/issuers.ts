import type { ShownTrustedIssuer } from '@selvedge/protocol/admin'
import {
  conditionProblem,
  isScope,
  issuerUrlProblem,
  type Scope,
  type SignatureAlgorithm,
  scopeNames,
  signatureAlgorithms,
  splitCondition,
  type TrustCondition,
} from '@selvedge/protocol/tokens'
import { command, type Input } from '../../command.ts'
import { readTokenFile } from '../../context/access-token.ts'
import { UsageError } from '../../failure.ts'

type Value = Input['options'][string]

const whichIssuer = { name: '<issuer>', description: 'ID of a rule, or URL of an issuer for all its rules' }
const ofProject = {
  flags: '--project <client-id>',
  description: 'client ID of the project; default: every project',
}
const ofSubject = { flags: '--subject <sub>', description: '"sub" of the tokens', required: true } as const

const listOf = (value: Value): readonly string[] =>
  Array.isArray(value) ? value : typeof value === 'string' ? value.split(/[\s,]+/).filter(Boolean) : []

const projectOf = ({ project }: Input['options']) => (typeof project === 'string' ? project : null)

function readConditions(value: Value): TrustCondition[] {
  return listOf(value).map((text) => {
    const condition = splitCondition(text)
    const problem = condition ? conditionProblem(condition) : 'it has no "="'
    if (condition && problem === undefined) return condition
    throw new UsageError(
      `--when ${JSON.stringify(text)} is not a condition: ${problem}`,
      'Name a claim and its value, or the beginning of one: --when repository=org/app --when "ref=refs/tags/*"',
    )
  })
}

function readWords<Word extends string>(
  value: Value,
  option: string,
  known: readonly Word[],
  isKnown: (text: string) => text is Word,
): Word[] {
  const words = listOf(value)
  const unknown = words.find((each) => !isKnown(each))
  if (unknown === undefined) return words.filter(isKnown)
  throw new UsageError(`${option} does not know "${unknown}"`, `Known are ${known.join(', ')}.`)
}

const isAlgorithm = (text: string): text is SignatureAlgorithm =>
  (signatureAlgorithms as readonly string[]).includes(text)

function readActsAs(value: Value): 'person' | 'workload' {
  if (value === 'person' || value === 'workload') return value
  throw new UsageError(
    `--as is ${JSON.stringify(value)}`,
    'Give "workload" for CI systems and servers, or "person" for people of the account.',
  )
}

export const adminIssuerAdd = command({
  path: ['admin', 'issuer', 'add'],
  summary:
    'Let ID tokens of an OpenID Connect issuer in to a project. Each call adds a rule; a token must meet all conditions of one.',
  args: [{ name: '<url>', description: 'URL of the issuer, exactly as its tokens name it in "iss"' }],
  options: [
    { flags: '--project <client-id>', description: 'client ID of the project', required: true },
    {
      flags: '--when <claim=value...>',
      description:
        'condition on a claim: a whole value, or the beginning of one with * at its end; can be repeated',
      required: true,
    },
    { flags: '--as <kind>', description: 'workload, or person', required: true },
    { flags: '--audience <text...>', description: 'audience of the tokens; default: the client ID' },
    { flags: '--scopes <list>', description: 'scopes that such a token may get; default: openid edge:mcm' },
    { flags: '--algorithms <list>', description: `${signatureAlgorithms.join(', ')}; default: RS256` },
    {
      flags: '--allow-private',
      description: 'the issuer may be on this machine (then also http://) or in a private network',
    },
  ],
  run: async ({ admin }, { args: [issuer = ''], options }) => {
    const problem = issuerUrlProblem(issuer)
    if (problem !== undefined)
      throw new UsageError(
        `${JSON.stringify(issuer)} is not the URL of an issuer: ${problem}`,
        'For example https://login.example',
      )
    const clientId = String(options.project)
    const audiences = listOf(options.audience)
    const scopes = readWords<Scope>(options.scopes ?? 'openid edge:mcm', '--scopes', scopeNames, isScope)
    const algorithms = readWords(
      options.algorithms ?? 'RS256',
      '--algorithms',
      signatureAlgorithms,
      isAlgorithm,
    )
    return admin['issuer.add']({
      clientId,
      issuer,
      audiences: audiences.length === 0 ? [clientId] : [...audiences],
      conditions: readConditions(options.when),
      scopes,
      as: readActsAs(options.as),
      algorithms,
      allowsPrivate: options.allowPrivate === true,
    })
  },
  human: (rule) => [describeRule(rule), ...rule.warnings.map((each) => `warning  ${each}`)].join('\n'),
})

export const adminIssuerList = command({
  path: ['admin', 'issuer', 'list'],
  summary:
    'List the issuers that projects trust, with the state of their keys and the subjects of accepted tokens.',
  options: [ofProject],
  run: async ({ admin }, { options }) => admin['issuer.list']({ clientId: projectOf(options) }),
  human: (rules) =>
    rules.length === 0
      ? 'no project trusts another issuer; "selvedge admin issuer add" lets tokens of one in'
      : rules.map((rule) => [describeRule(rule), ...stateOf(rule)].join('\n')).join('\n\n'),
})

function describeRule(rule: ShownTrustedIssuer): string {
  const { issuerId, clientId, issuer, audiences, conditions, scopes, as, algorithms, allowsPrivate } = rule
  return [
    `${issuer}${allowsPrivate ? ' (may be private)' : ''}`,
    `rule     ${issuerId}`,
    `project  ${clientId}`,
    `audience ${audiences.join(' or ')}`,
    ...conditions.map(({ claim, value }) => `when     ${claim}=${value}`),
    `as       ${as}, with ${scopes.join(' ')}`,
    `signed   ${algorithms.join(' or ')}`,
  ].join('\n')
}

function stateOf({ keys, subjects, revokedAt }: ShownTrustedIssuer): string[] {
  const { count, fetchedAt, validUntil, problem } = keys
  const usable =
    fetchedAt === null
      ? 'not fetched yet'
      : `${count}, fetched ${fetchedAt}, used until ${validUntil} at the latest`
  const shown = subjects.slice(0, 10)
  return [
    `keys     ${usable}`,
    ...(problem === null ? [] : [`problem  ${problem}`]),
    ...(revokedAt === null ? [] : [`revoked  what was issued before ${revokedAt}`]),
    ...shown.map(
      ({ subject, email, lastUsedAt }) =>
        `subject  ${subject}${email === null ? '' : ` as ${email}`}, ${lastUsedAt === null ? 'not yet' : `last ${lastUsedAt}`}`,
    ),
    ...(subjects.length > shown.length ? [`         and ${subjects.length - shown.length} more`] : []),
  ]
}

export const adminIssuerRemove = command({
  path: ['admin', 'issuer', 'remove'],
  summary: 'Remove rules, and revoke everything that was issued by them.',
  args: [whichIssuer],
  options: [ofProject],
  run: async ({ admin }, { args: [issuer = ''], options }) =>
    admin['issuer.remove']({ issuer, clientId: projectOf(options) }),
  human: ({ issuerIds }) => `removed ${issuerIds.join(', ')}`,
})

export const adminIssuerRevoke = command({
  path: ['admin', 'issuer', 'revoke'],
  summary: 'Revoke everything that was issued by rules until now, or for one subject. The rules stay.',
  args: [whichIssuer],
  options: [ofProject, { flags: '--subject <sub>', description: 'only what was issued for this "sub"' }],
  run: async ({ admin }, { args: [issuer = ''], options }) =>
    admin['issuer.revoke']({
      issuer,
      clientId: projectOf(options),
      subject: typeof options.subject === 'string' ? options.subject : null,
    }),
  human: ({ issuerIds }) => `revoked what was issued until now by ${issuerIds.join(', ')}`,
})

export const adminIssuerTest = command({
  path: ['admin', 'issuer', 'test'],
  summary: 'Report which check an ID token fails, with the value. Nothing is issued.',
  args: [whichIssuer],
  options: [
    {
      flags: '--token-file <file>',
      description: 'file with the ID token; - for standard input',
      required: true,
    },
    ofProject,
  ],
  run: async ({ admin }, { args: [issuer = ''], options }) =>
    admin['issuer.test']({
      issuer,
      clientId: projectOf(options),
      token: readTokenFile(String(options.tokenFile)),
    }),
  human: ({ accepted, problem, subject, rules }) =>
    problem !== null
      ? `refused: ${problem}`
      : [
          `form, key, signature and times are right; the token is for ${subject}`,
          ...rules.map((rule) => `rule ${rule.issuerId}: ${rule.problem ?? 'lets it in'}`),
          accepted ? 'accepted' : 'refused: no rule lets it in',
        ].join('\n'),
  isFailure: ({ accepted }) => !accepted,
})

export const adminIssuerLink = command({
  path: ['admin', 'issuer', 'link'],
  summary: 'Link a subject of rules for people to a person of the account.',
  args: [whichIssuer],
  options: [
    ofSubject,
    {
      flags: '--email <address>',
      description: 'e-mail address with which the person signs in here',
      required: true,
    },
    ofProject,
  ],
  run: async ({ admin }, { args: [issuer = ''], options }) =>
    admin['issuer.link']({
      issuer,
      clientId: projectOf(options),
      subject: String(options.subject),
      email: String(options.email),
    }),
})

export const adminIssuerUnlink = command({
  path: ['admin', 'issuer', 'unlink'],
  summary: 'End the link of a subject to a person, and revoke everything that was issued for it.',
  args: [whichIssuer],
  options: [ofSubject, ofProject],
  run: async ({ admin }, { args: [issuer = ''], options }) =>
    admin['issuer.unlink']({ issuer, clientId: projectOf(options), subject: String(options.subject) }),
})
