import type { ShownCompany } from '@selvedge/protocol/admin'
import {
  type CompanyRule,
  conditionProblem,
  domainProblem,
  issuerUrlProblem,
  splitCondition,
} from '@selvedge/protocol/tokens'
import { command, type Input } from '../../command.ts'
import { readInputFile } from '../../context/input-file.ts'
import { UsageError } from '../../failure.ts'

type Value = Input['options'][string]

const maxSecretBytes = 4096

const domainArgument = { name: '<domain>', description: 'domain of the company, such as example.com' }

function expectDomain(domain: string): string {
  const problem = domainProblem(domain)
  if (problem === undefined) return domain
  throw new UsageError(
    `${JSON.stringify(domain)} is not the domain of a company: ${problem}`,
    'For example example.com',
  )
}

/** `claim=value:role`; a value may have colons itself. */
function readRules(value: Value): CompanyRule[] {
  const texts = Array.isArray(value) ? value : typeof value === 'string' ? [value] : []
  return texts.map((text) => {
    const at = text.lastIndexOf(':')
    const role = text.slice(at + 1)
    const condition = splitCondition(text.slice(0, at))
    const problem = condition ? conditionProblem(condition) : 'it has no "="'
    if (condition && problem === undefined && (role === 'owner' || role === 'member'))
      return { ...condition, role }
    throw new UsageError(
      `--role ${JSON.stringify(text)} is not a rule: ${problem ?? 'it does not end with ":owner" or ":member"'}`,
      'Name a claim, its value and the role: --role groups=engineers:member --role "groups=admin-*:owner"',
    )
  })
}

function readSecret(file: Value): string | null {
  if (typeof file !== 'string') return null
  const hint = 'Give the path of a file that contains only the client secret.'
  const text = readInputFile(file, maxSecretBytes, hint).trim()
  if (text !== '') return text
  throw new UsageError('the file with the client secret is empty', 'Write the secret into it, on one line.')
}

function readClientAuth({ clientSecretFile, privateKeyJwt }: Input['options']): ShownCompany['clientAuth'] {
  if (clientSecretFile !== undefined && privateKeyJwt === true)
    throw new UsageError('--client-secret-file and --private-key-jwt exclude each other', 'Give one of them.')
  if (privateKeyJwt === true) return 'private_key_jwt'
  return clientSecretFile === undefined ? 'none' : 'client_secret'
}

export const adminCompanyAdd = command({
  path: ['admin', 'company', 'add'],
  summary: 'Let people of a domain sign in to the console with the OpenID provider of their company.',
  args: [domainArgument],
  options: [
    {
      flags: '--issuer <url>',
      description: 'URL of the provider, exactly as its tokens name it in "iss"',
      required: true,
    },
    { flags: '--client-id <id>', description: 'client ID of this service at the provider', required: true },
    {
      flags: '--email <address>',
      description: 'e-mail address of the account; default: the only account there is',
    },
    {
      flags: '--client-secret-file <file>',
      description: 'file with the client secret; - for standard input',
    },
    {
      flags: '--private-key-jwt',
      description: 'authenticate with the signing keys of this service, published at /jwks',
    },
    {
      flags: '--role <claim=value:role...>',
      description:
        'who gets which role (owner or member): a whole value, or the beginning of one with * at its end; can be repeated',
    },
    {
      flags: '--allow-private',
      description: 'the provider may be on this machine (then also http://) or in a private network',
    },
  ],
  run: async ({ admin }, { args: [domain = ''], options }) => {
    const issuer = String(options.issuer)
    const problem = issuerUrlProblem(issuer)
    if (problem !== undefined)
      throw new UsageError(
        `${JSON.stringify(issuer)} is not the URL of an issuer: ${problem}`,
        'For example https://login.example',
      )
    return admin['company.add']({
      domain: expectDomain(domain),
      email: typeof options.email === 'string' ? options.email : null,
      issuer,
      clientId: String(options.clientId),
      clientAuth: readClientAuth(options),
      clientSecret: readSecret(options.clientSecretFile),
      rules: readRules(options.role),
      allowsPrivate: options.allowPrivate === true,
    })
  },
  human: (company) =>
    [
      describeCompany(company),
      ...(company.rules.length === 0 ? ['warning  there is no rule, so no person gets access: --role'] : []),
      `next     register the redirect URI at the provider, then: selvedge admin company test ${company.domain}`,
    ].join('\n'),
})

export const adminCompanyList = command({
  path: ['admin', 'company', 'list'],
  summary: 'List the companies with a provider of their own for the console.',
  run: async ({ admin }) => admin['company.list'](),
  human: (companies) =>
    companies.length === 0
      ? 'no company signs in here; "selvedge admin company add" adds one'
      : companies.map(describeCompany).join('\n\n'),
})

function describeCompany(company: ShownCompany): string {
  const { companyId, accountId, domain, issuer, clientId, clientAuth, redirectUri, rules, people } = company
  return [
    `${domain}${company.isRequired ? ' (required)' : ''}${company.allowsPrivate ? ' (may be private)' : ''}`,
    `company  ${companyId}`,
    `account  ${accountId}`,
    `issuer   ${issuer}`,
    `client   ${clientId}, authenticated by ${clientAuth}`,
    `redirect ${redirectUri}`,
    ...rules.map(({ claim, value, role }) => `role     ${claim}=${value}: ${role}`),
    `people   ${people}`,
  ].join('\n')
}

export const adminCompanyTest = command({
  path: ['admin', 'company', 'test'],
  summary:
    'Fetch the metadata and keys of the provider of a company, and report what is not as it has to be.',
  args: [domainArgument],
  run: async ({ admin }, { args: [domain = ''] }) => admin['company.test']({ domain: expectDomain(domain) }),
  human: ({ redirectUri, checks, isReady }) =>
    [
      ...checks.map(({ name, problem }) => `${name}: ${problem ?? 'ok'}`),
      `redirect URI to register: ${redirectUri}`,
      isReady ? 'ready' : 'not ready',
    ].join('\n'),
  isFailure: ({ isReady }) => !isReady,
})

export const adminCompanyRemove = command({
  path: ['admin', 'company', 'remove'],
  summary: 'Remove a company. Its sessions end at once, and the memberships that its rules gave.',
  args: [domainArgument],
  run: async ({ admin }, { args: [domain = ''] }) =>
    admin['company.remove']({ domain: expectDomain(domain) }),
  human: ({ companyId }) => `removed ${companyId}`,
})
