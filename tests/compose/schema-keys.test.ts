/**
 * Every key of the Compose Specification (schema/compose-spec.json of compose-spec 170098b, June 2026) is known here: it has an effect, a line that
 * it changes nothing, or a refusal. A key that the specification does not have is refused by its name, wherever it is.
 */
import { describe, expect, it } from 'vitest'
import { check, problemsOf } from '../harness/check-compose.ts'

/** Where keys are, as YAML with `KEY` in their place, and their names. */
const inFile: readonly [where: string, names: string][] = [
  [
    '{ services: { web: { image: x } }, KEY }',
    'configs include models name networks secrets version volumes',
  ],
  [
    'networks: { one: { KEY } }',
    'attachable driver driver_opts enable_ipv4 enable_ipv6 external internal ipam labels name',
  ],
  ['volumes: { one: { KEY } }', 'driver driver_opts external labels name'],
  ['secrets: { one: { KEY } }', 'driver driver_opts environment external file labels name template_driver'],
  ['configs: { one: { KEY } }', 'content environment external file labels name template_driver'],
]
const inService: readonly [where: string, names: string][] = [
  [
    'KEY',
    `annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command configs container_name cpu_count
    cpu_percent cpu_period cpu_quota cpu_rt_period cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy develop
    device_cgroup_rules devices dns dns_opt dns_search domainname entrypoint env_file environment expose extends external_links
    extra_hosts gpus group_add healthcheck hostname init ipc isolation label_file labels links logging mac_address mem_limit
    mem_reservation mem_swappiness memswap_limit models network_mode networks oom_kill_disable oom_score_adj pid pids_limit platform
    ports post_start pre_stop privileged profiles provider pull_policy pull_refresh_after read_only restart runtime scale secrets
    security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt sysctls tmpfs tty ulimits use_api_socket user
    userns_mode uts volumes volumes_from working_dir`,
  ],
  ['configs: [{ source: c, KEY }]', 'gid mode target uid'],
  ['secrets: [{ source: s, KEY }]', 'gid mode target uid'],
  ['depends_on: { two: { KEY } }', 'condition required restart'],
  [
    'deploy: { KEY }',
    'endpoint_mode labels mode placement replicas resources restart_policy rollback_config update_config',
  ],
  ['deploy: { resources: { KEY } }', 'limits reservations'],
  ['deploy: { resources: { limits: { KEY } } }', 'cpus memory pids'],
  ['devices: [{ source: /dev/a, KEY }]', 'permissions target'],
  ['env_file: [{ path: a, KEY }]', 'format required'],
  ['extends: { service: two, KEY }', 'file'],
  ['healthcheck: { KEY }', 'disable interval retries start_interval start_period test timeout'],
  ['logging: { KEY }', 'driver options'],
  [
    'networks: { n: { KEY } }',
    'aliases driver_opts gw_priority interface_name ipv4_address ipv6_address link_local_ips mac_address priority',
  ],
  ['ports: [{ target: 80, KEY }]', 'app_protocol host_ip mode name protocol published'],
  ['ulimits: { nofile: { KEY } }', 'hard soft'],
  [
    'volumes: [{ type: volume, source: v, target: /v, KEY }]',
    'bind consistency image read_only tmpfs volume',
  ],
  [
    'volumes: [{ type: bind, source: /v, target: /v, bind: { KEY } }]',
    'create_host_path propagation recursive selinux',
  ],
  ['volumes: [{ type: tmpfs, target: /v, tmpfs: { KEY } }]', 'mode size'],
  ['volumes: [{ type: volume, source: v, target: /v, volume: { KEY } }]', 'labels nocopy subpath'],
]

const around = (service: string): string => `
services:
  two: { image: y }
  web: { image: x, ${service} }
volumes: { v: {} }
networks: { n: {} }
secrets: { s: { external: true } }
configs: { c: { content: x } }
`
const problemsWith = async (file: string, key: string): Promise<string[]> =>
  problemsOf(await check(file.replace('KEY', `${key}:`)))

describe.each([
  ['the file', inFile, (text: string) => text],
  ['a service', inService, around],
] as const)('%s', (_, all, fileOf) => {
  it.each(all)('has all keys of the specification, and refuses others: %s', async (where, names) => {
    const file = fileOf(where)
    const found = await Promise.all(names.split(/\s+/).map((each) => problemsWith(file, each)))
    expect(found.flat().filter((each) => each.includes('Compose has no such key'))).toEqual([])
    expect(await problemsWith(file, 'invented')).toContainEqual(expect.stringContaining('invented'))
  })
})
