/** The descriptions in `deploy/` agree with the code and the images of the services. Nothing is run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { discoveryPaths, identityPaths } from '@selvedge/protocol'
import { loadConfig } from '@selvedge/service-kit/config'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { discoveryOptions } from '../../../apps/discovery/src/config.ts'
import { identityOptions } from '../../../apps/identity/src/config.ts'
import { root } from '../../harness/processes.ts'

const read = (path: string): string => readFileSync(join(root, 'deploy', path), 'utf8')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const services = {
  identity: { options: identityOptions, paths: identityPaths },
  discovery: { options: discoveryOptions, paths: discoveryPaths },
}
const names = Object.keys(services) as (keyof typeof services)[]

/** Reads arguments and variables as the service does. @throws ConfigError for an option or a value that it does not accept */
function configOf(name: keyof typeof services, argv: readonly string[], env: Record<string, string>) {
  const { options } = services[name]
  const known = new Set(
    Object.values(options).flatMap((each) => ('env' in each && each.env ? [each.env] : [])),
  )
  // Node.js reads this one.
  known.add('NODE_EXTRA_CA_CERTS')
  for (const each of Object.keys(env)) expect(known).toContain(each)
  return loadConfig(options as typeof identityOptions, { argv, env, file: {} })
}

/** Names of files in `/run/secrets` that arguments and variables refer to. */
const secretsIn = (texts: readonly string[]): string[] =>
  texts
    .flatMap((each) => [...each.matchAll(/\/run\/secrets\/([\w.-]+)/g)].map(([, file]) => file!))
    .toSorted()

/** An image without the host of a registry: the engine decides where it comes from. */
const withoutHost = /^(?!localhost\/)[a-z0-9-]+(?:\/[a-z0-9-]+)?:[\w.-]+$/

describe.each(names)('the image of %s', (name) => {
  const text = read(`containers/${name}.Containerfile`)
  it('listens where the service does by default', () => {
    const { options } = services[name]
    const port = options['listen.port']
    expect(text).toContain(`${port.env}=${port.fallback} `)
    expect(text).toContain(`EXPOSE ${port.fallback}\n`)
  })
  it('has a base without the host of a registry, and runs nothing while it is built', () => {
    expect(/^ARG BASE=(.*)$/m.exec(text)?.[1]).toMatch(withoutHost)
    expect(text).not.toMatch(/^(?:RUN|VOLUME|SHELL)\b/m)
  })
})

describe('compose.yaml', () => {
  const variables: Record<string, string> = Object.fromEntries(
    read('compose/example.env')
      .split('\n')
      .filter((line) => /^\w/.test(line))
      .map((line) => line.split('=') as [string, string]),
  )
  const text = read('compose.yaml').replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, each, other) => {
    const value = variables[each] ?? other
    if (value === undefined) throw new Error(`compose.yaml uses ${each}, and example.env does not have it`)
    return value
  })
  interface Service {
    image: string
    command?: string[]
    environment?: Record<string, string>
    secrets?: string[]
    networks: string[]
    ports?: string[]
    volumes?: string[]
    [other: string]: unknown
  }
  const compose = parse(text, { merge: true }) as {
    services: Record<string, Service>
    networks: Record<string, { internal?: boolean }>
    volumes: Record<string, unknown>
    secrets: Record<string, unknown>
  }
  const all = Object.entries(compose.services)

  it('has two replicas of each service, a database, six servers for locations and haproxy', () => {
    expect(Object.keys(compose.services).toSorted()).toEqual([
      'database',
      'discovery-1',
      'discovery-2',
      'haproxy',
      'identity-1',
      'identity-2',
      ...[1, 2, 3, 4, 5, 6].map((each) => `locations-${each}`),
      'locations-setup',
    ])
  })

  it.each(all)('runs %s without rights, with limits, and starts it again', (_, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges'] })
    expect(service.restart).toMatch(/^(?:unless-stopped|on-failure)$/)
    expect(service.mem_limit).toMatch(/^\d+[mg]$/)
    expect(service.cpus).toBeGreaterThan(0)
    expect(service.image).toMatch(withoutHost)
    expect(service.privileged ?? service.cap_add ?? service.devices ?? service.network_mode).toBeUndefined()
  })

  it.each(all)('gives %s only what is declared, and every secret that it names', (_, service) => {
    for (const each of service.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(each)
    for (const each of service.networks) expect(Object.keys(compose.networks)).toContain(each)
    for (const each of service.volumes ?? [])
      if (!each.startsWith('./')) expect(Object.keys(compose.volumes)).toContain(each.split(':')[0])
    const texts = [...(service.command ?? []), ...Object.values(service.environment ?? {})].map(String)
    const named = secretsIn(texts)
    expect((service.secrets ?? []).filter((each) => each !== 'tls.pem').toSorted()).toEqual(named)
  })

  it('reaches only haproxy from outside', () => {
    expect(all.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['haproxy'])
    const open = Object.keys(compose.networks).filter((each) => compose.networks[each]?.internal !== true)
    const reached = all.filter(([, { networks }]) => networks.some((each) => open.includes(each)))
    expect(reached.map(([name]) => name)).toEqual(['haproxy'])
  })

  it.each(names.flatMap((name) => [`${name}-1`, `${name}-2`].map((each) => [each, name] as const)))(
    'configures %s as the service reads it',
    (each, name) => {
      const { command = [], environment = {}, image } = compose.services[each]!
      const config = configOf(name, command, environment)
      const checks = /inter (\d+)s fall (\d+)/.exec(read('compose/haproxy.cfg'))!
      expect(config['drain.seconds']).toBeGreaterThan(Number(checks[1]) * Number(checks[2]))
      expect(config.storePasswordFile).toBe('/run/secrets/database-password')
      expect(new URL(config.store).password).toBe('')
      expect(image).toBe(`selvedge-${name}:${version}`)
      const port = services[name].options['listen.port'].fallback
      expect(read('compose/haproxy.cfg')).toContain(`server ${each} ${each}:${port}\n`)
    },
  )
})

describe.each(names)('kubernetes/%s.yaml', (name) => {
  const text = read(`kubernetes/${name}.yaml`)
  const documents = parseAllDocuments(text).map((each) => each.toJS())
  const [deployment, service, budget, policy] = documents
  const pod = deployment.spec.template.spec
  const [container] = pod.containers
  const labels = { 'app.kubernetes.io/name': `selvedge-${name}` }
  const port = services[name].options['listen.port'].fallback

  it('states that it was not run', () => expect(text).toContain('# NOT RUN BY US.'))
  it('has a Deployment, its Service, a budget and a policy that select its pods', () => {
    expect(documents.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
      'apps/v1 Deployment',
      'v1 Service',
      'policy/v1 PodDisruptionBudget',
      'networking.k8s.io/v1 NetworkPolicy',
    ])
    for (const each of documents) expect(each.metadata.name).toBe(`selvedge-${name}`)
    expect(deployment.spec.template.metadata.labels).toMatchObject(labels)
    expect(deployment.spec.selector.matchLabels).toEqual(labels)
    expect(service.spec.selector).toEqual(labels)
    expect(budget.spec.selector.matchLabels).toEqual(labels)
    expect(policy.spec.podSelector.matchLabels).toEqual(labels)
    expect(budget.spec.minAvailable).toBeLessThan(deployment.spec.replicas)
  })
  it('connects the port of the service', () => {
    expect(container.ports).toEqual([{ name: 'http', containerPort: port }])
    expect(service.spec.ports).toEqual([{ name: 'http', port, targetPort: 'http' }])
    expect(policy.spec.ingress[0].ports).toEqual([{ port: 'http' }])
  })
  it('probes paths of the service', () => {
    const { paths } = services[name]
    expect(container.readinessProbe.httpGet).toEqual({ path: paths.ready, port: 'http' })
    expect(container.livenessProbe.httpGet).toEqual({ path: paths.health, port: 'http' })
    expect(container.startupProbe.httpGet).toEqual({ path: paths.health, port: 'http' })
  })
  it('runs as the user of the image, without rights', () => {
    expect(read(`containers/${name}.Containerfile`)).toContain('USER 10001:10001\n')
    expect(pod.securityContext).toEqual({
      ...{ runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 },
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(container.securityContext).toEqual({
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.automountServiceAccountToken).toBe(false)
    expect(container.image).toBe(`selvedge-${name}:${version}`)
  })
  it('sets options and variables that the service reads, with secrets by reference', () => {
    const env = Object.fromEntries(
      container.env.map((each: { name: string; value: string }) => [each.name, each.value]),
    )
    const config = configOf(name, container.args, env)
    const { readinessProbe: probe } = container
    expect(config['drain.seconds']).toBeGreaterThan(
      probe.periodSeconds * probe.failureThreshold + probe.timeoutSeconds,
    )
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(config['drain.seconds'] + 8)
    expect(new URL(config.store).password).toBe('')
    const { secret } = pod.volumes.find((each: { name: string }) => each.name === 'secrets')
    expect(secret.defaultMode).toBe(0o440)
    expect(secret.items.map((each: { path: string }) => each.path).toSorted()).toEqual(
      secretsIn(container.args),
    )
    expect(documents.some(({ kind }) => kind === 'Secret')).toBe(false)
    const volumes = pod.volumes.map((each: { name: string }) => each.name).toSorted()
    expect(container.volumeMounts.map((each: { name: string }) => each.name).toSorted()).toEqual(volumes)
  })
})
