/**
 * Makes docs/reference from the code: `npm run docs` writes it, `npm run check` compares. Each table of the project is declared
 * once; this is where it becomes prose.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  catalogue,
  containerCapabilities,
  containerSettings,
  detailsOf,
  eventsPath,
  httpPorts,
  ignoredSettings,
  type Method,
  messages,
  methods,
  oauthErrors,
  openRpcDocument,
  reasonsOf,
  rpcPath,
  streamLimits,
  topics,
  version,
} from '@selvedge/protocol'
import { adminMethods } from '@selvedge/protocol/admin'
import { scopes } from '@selvedge/protocol/tokens'
import type { Options } from '@selvedge/service-kit/config'
import * as z from 'zod'
import { commands } from '../../apps/cli/src/commands/index.ts'
import { fileKeys, partKeys } from '../../apps/cli/src/compose/app-keys.ts'
import type { Keys } from '../../apps/cli/src/compose/service/draft.ts'
import { serviceKeys } from '../../apps/cli/src/compose/service/keys.ts'
import { discoveryOptions } from '../../apps/discovery/src/config.ts'
import { identityOptions } from '../../apps/identity/src/config.ts'
import { runtimeOptions } from '../../apps/runtime/src/config.ts'
import { defaultText } from '../../packages/protocol/src/mcm/settings/form.ts'
import { metricsPage } from './metrics.ts'
import { table } from './table.ts'

const folder = fileURLToPath(new URL('../reference', import.meta.url))
const note = '<!-- Made by "npm run docs"; change the code, not this file. -->'
const openRpc = openRpcDocument(Object.values(methods), {
  title: 'Selvedge runtime',
  version,
  url: `http://127.0.0.1:8083${rpcPath}`,
}) as { methods: { name: string; result: { schema: object } }[] }

function describeAccess({ access }: Method): string {
  if (access.caller === 'anyone' && access.withoutApiKey) return 'Open to every program on the device.'
  const parts = ['Needs the API key where one is set.']
  if (access.caller !== 'token') return parts.join(' ')
  if (access.token === 'node') parts.push('Needs an access token of this node.')
  if (access.token === 'associated')
    parts.push('Needs an access token of this node and of the associated account.')
  if (access.scope) parts.push(`Needs the scope \`${access.scope}\`.`)
  return parts.join(' ')
}

function describeFromServices({ fromServices = 'no' }: Method): string {
  if (fromServices === 'yes') return 'Services of the device may call it.'
  if (fromServices === 'no') return 'Services of the device may not call it.'
  return `Services of the device may call it with the setting [\`${fromServices}\`](containers.md).`
}

function describeMethod(method: Method): string {
  const schema = openRpc.methods.find(({ name }) => name === method.name)?.result.schema
  return [
    `## ${method.name}`,
    [method.summary, detailsOf(method), describeAccess(method), describeFromServices(method)]
      .filter((text) => text !== '')
      .join(' '),
    method.params.length === 0
      ? 'No parameters: `params` is absent, `[]`, `[""]`, `null` or `{}`.'
      : table(
          ['Parameter', 'Expected', 'Meaning'],
          method.params.map(({ name, expected, description }) => [`\`${name}\``, expected, description]),
        ),
    `Result:\n\n\`\`\`json\n${JSON.stringify(schema, undefined, 2)}\n\`\`\``,
    `Fails with ${reasonsOf(method)
      .map((reason) => `[\`${reason}\`](errors.md#${reason})`)
      .join(', ')}.`,
  ].join('\n\n')
}

const methodsPage = [
  note,
  '# Methods of the local API',
  `\`POST ${rpcPath}\`, JSON-RPC 2.0. Parameters come by position, in the order of the tables, or by name. A lone call without \`id\` is answered with \`"id": null\`; in a batch it is a notification. The same calls can be sent over [WebSocket](../websocket.md).`,
  ...Object.values(methods).map(describeMethod),
].join('\n\n')

const errorsPage = [
  note,
  '# Errors',
  'An error of the local API, and of the console, is `{ "code", "message", "data": { "reason", "detail", "hint", "retryable" } }`. Switch on `reason`: codes group reasons, texts are for people.',
  table(
    ['Reason', 'Code', 'Message', 'Try again', 'What happened', 'What to do'],
    Object.entries(catalogue).map(([reason, { code, retryable, meaning, hint }]) => [
      `<a id="${reason}"></a>\`${reason}\``,
      String(code),
      messages[code],
      retryable ? 'yes' : 'no',
      meaning,
      hint,
    ]),
  ),
  '## Identity service and discovery service',
  'Their errors are OAuth’s: `{ "error", "error_description" }`.',
  table(
    ['Error', 'HTTP', 'What happened'],
    Object.entries(oauthErrors).map(([code, { status, meaning }]) => [
      `\`${code}\``,
      String(status),
      meaning,
    ]),
  ),
].join('\n\n')

const optionsTable = (options: Options): string =>
  table(
    ['Option', 'Default', 'Environment', 'Meaning'],
    Object.entries(options).map(([name, { fallback, env, description }]) => [
      `\`${name}\``,
      `\`${JSON.stringify(fallback)}\``,
      env ? `\`${env}\`` : '',
      description,
    ]),
  )

const configurationPage = [
  note,
  '# Configuration',
  'Each program takes its options from, last one wins: the defaults; its section of the file that `SELVEDGE_CONFIG` names; the environment; its command line (`--gps.positionalOrder=latitude-first`). An unknown option or a wrong value stops the start, and says where it is. `npm start` takes the file and the environment.',
  '```json\n{\n  "state": "/var/lib/selvedge",\n  "runtime": { "name": "boat", "gps": { "positionalOrder": "latitude-first" } },\n  "identity": {},\n  "discovery": {}\n}\n```',
  `## Runtime\n\n${optionsTable(runtimeOptions)}`,
  `## Identity service\n\n${optionsTable(identityOptions)}`,
  `## Discovery service\n\n${optionsTable(discoveryOptions)}`,
  '## The state folder',
  table(
    ['Path', 'Mode', 'What it is'],
    [
      [
        '`stack.json`',
        '0600',
        'URLs of a running stack, for people and scripts; no program of the project reads it',
      ],
      ['`runtime.sock`', '0660', 'the local API'],
      ['`admin.sock`', '0600', "the operator's API"],
      ['`api-key`', '0600', 'the API key, where one is asked for'],
      ['`runtime/node-key.json`', '0600', 'the keys that the node is; back it up, or lose the node with it'],
      ['`runtime/state.a`, `.b`', '0600', 'account, last location, keys of issuers'],
      ['`runtime/deployments.a`, `.b`', '0600', 'images, containers, and what happened to them'],
      ['`runtime/schedules.a`, `.b`', '0600', 'up to when the times of functions were run'],
      ['`runtime/apps.a`, `.b`', '0600', 'which containers are one app'],
      ['`runtime/configs/`', '0700', 'files of apps (`configs`), by the digest of their content'],
      ['`runtime/held-paths.a`, `.b`', '0600', 'paths that removed containers left, for a day'],
      ['`runtime/images/`', '0700', 'content of images, by digest'],
      ['`runtime/storage.db`', '0700 folder', 'storage of functions; made by the first that uses it'],
      ['`identity/identity.db`', '0700 folder', 'registry, accounts, projects, people, signing keys'],
      ['`identity/secret-keys`', '0600', 'the key that encrypts the secrets in it; back it up apart'],
      ['`runtime/revocations.a`, `.b`', '0600', 'the lists of revoked tokens'],
      ['`discovery/locations.db`', '0700 folder', 'last locations'],
    ],
  ),
  "## The user's configuration folder",
  'What the command line keeps for a user, in `$XDG_CONFIG_HOME/selvedge`, or `~/.config/selvedge`. A state folder or a repository never decides what is in it.',
  table(
    ['Path', 'Mode', 'What it is'],
    [
      [
        '`sign-ins/<hash>.json`',
        '0600',
        'the sign-in of `selvedge login` at one identity service; its tokens are sent to that service only',
      ],
      ['`confirmed.json`', '0600', 'addresses that the user confirmed; remove it to be asked again'],
    ],
  ),
].join('\n\n')

/** A table, or nothing where it has no rows. */
const tableOfAny = (...[head, rows]: Parameters<typeof table>): string[] =>
  rows.length > 0 ? [table(head, rows)] : []

const cliPage = [
  note,
  '# Command line',
  'Every command takes `--json` (one JSON value on standard output), `-v` (the calls that are made, as curl lines, secrets left out), `--context` (a name of `selvedge context add`), `--state`, `--url`, `--identity-url` and `--discovery-url`. Exit codes: 0 done, 1 failed, 2 called wrongly, 3 not running, 4 not authorised. Errors go to standard error.',
  ...commands.map(({ path, args = [], summary, options = [], examples = [] }) =>
    [
      `## selvedge ${[...path, ...args.map(({ name }) => name)].join(' ')}`,
      summary,
      ...tableOfAny(
        ['Argument', 'Meaning'],
        args.map(({ name, description, choices }) => [
          `\`${name}\``,
          choices ? `${description}: ${choices.map((each) => `\`${each}\``).join(', ')}` : description,
        ]),
      ),
      ...tableOfAny(
        ['Option', 'Meaning'],
        options.map(({ flags, description, required }) => [
          `\`${flags}\``,
          `${description}${required ? ' (required)' : ''}`,
        ]),
      ),
      ...(examples.length > 0 ? [`\`\`\`sh\n${examples.join('\n')}\n\`\`\``] : []),
    ].join('\n\n'),
  ),
].join('\n\n')

const httpPage = [
  note,
  '# HTTP',
  '## Scopes',
  table(
    ['Scope', 'Meaning'],
    Object.entries(scopes).map(([name, meaning]) => [`\`${name}\``, meaning]),
  ),
  "## The operator's API",
  `JSON-RPC at \`POST ${rpcPath}\` on the Unix socket \`admin.sock\` of the state folder.`,
  table(
    ['Method', 'Parameters', 'What it does'],
    Object.values(adminMethods).map(({ name, params, summary }) => [
      `\`${name}\``,
      params.map((each) => `\`${each.name}\`: ${each.expected}`).join('; '),
      summary,
    ]),
  ),
  readFileSync(fileURLToPath(new URL('http.md', import.meta.url)), 'utf8').trimEnd(),
].join('\n\n')

const schemaOfData = (schema: z.ZodType): string => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-7', io: 'input' })
  return JSON.stringify(rest, undefined, 2)
}

const eventsPage = [
  note,
  '# Events of the local API',
  `\`GET ${eventsPath}?topics=…\` (server-sent events), or \`subscribe\` over WebSocket. How to use them: [events](../events.md). Every topic needs a token of this node and of the associated account. A caller has at most ${streamLimits.ofCaller} streams, all callers together ${streamLimits.all}.`,
  'An event is `{ "topic", "data", "lost" }`; `lost` is absent unless the reader was too slow for events before it.',
  ...Object.entries(topics).map(([name, { summary, access, data }]) => {
    const { scope } = access as { readonly scope?: string }
    return [
      `## ${name}`,
      `${summary}${scope === undefined ? '' : ` Needs the scope \`${scope}\`.`}`,
      `Data:\n\n\`\`\`json\n${schemaOfData(data)}\n\`\`\``,
    ].join('\n\n')
  }),
].join('\n\n')

const containersPage = [
  note,
  '# Settings of containers',
  'Members of the `env` of `deployContainer`. All values are strings. `rpc.discover` describes them as a JSON schema. What they mean together: [services](../services.md).',
  table(
    ['Setting', 'Default', 'Expected', 'Meaning'],
    Object.entries(containerSettings).map(([name, each]) => {
      const fallback = defaultText(each)
      return [
        `\`${name}\``,
        fallback === undefined ? '' : `\`"${fallback}"\``,
        each.expected,
        each.description,
      ]
    }),
  ),
  `Accepted for compatibility with other runtimes of this API family, without effect: ${ignoredSettings.map((name) => `\`${name}\``).join(', ')}.`,
].join('\n\n')

const composeRows = (keys: Keys) =>
  Object.entries(keys).map(([name, key]) => [
    `\`${name}\``,
    key.use === 'used' ? key.becomes : `${key.use === 'refused' ? 'refused' : 'without effect'}: ${key.why}`,
  ])

const composePage = [
  note,
  '# Keys of Compose files',
  'What `selvedge compose check` makes of each key of the Compose Specification. A key that is not here is refused with its line, unless its name begins with `x-`. How to use them: [Compose files](../compose.md).',
  `Ports that are usually HTTP: ${httpPorts.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(', ')}. Capabilities of the profile: ${containerCapabilities.map((each) => `\`${each}\``).join(', ')}.`,
  ...Object.entries({
    'The file': fileKeys,
    Services: serviceKeys,
    Networks: partKeys.networks,
    Volumes: partKeys.volumes,
    Secrets: partKeys.secrets,
    Configs: partKeys.configs,
  }).flatMap(([title, keys]) => [`## ${title}`, table(['Key', 'Meaning here'], composeRows(keys))]),
].join('\n\n')

const pages: Readonly<Record<string, string>> = {
  'openrpc.json': JSON.stringify(openRpc, undefined, 2),
  'methods.md': methodsPage,
  'errors.md': errorsPage,
  'configuration.md': configurationPage,
  'cli.md': cliPage,
  'http.md': httpPage,
  'containers.md': containersPage,
  'compose.md': composePage,
  'events.md': eventsPage,
  'metrics.md': `${note}\n\n${metricsPage}`,
}

const isCheck = process.argv.includes('--check')
mkdirSync(folder, { recursive: true })
const stale = Object.entries(pages).filter(([name, text]) => {
  const path = join(folder, name)
  if (!isCheck) writeFileSync(path, `${text}\n`)
  return isCheck && readFileSync(path, { encoding: 'utf8', flag: 'a+' }) !== `${text}\n`
})
if (stale.length > 0) {
  process.stderr.write(
    `error: docs/reference is behind the code: ${stale.map(([name]) => name).join(', ')}; run "npm run docs"\n`,
  )
  process.exit(1)
}
