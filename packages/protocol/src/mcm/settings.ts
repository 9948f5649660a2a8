/**
 * What a deployment may set for a container: members of `spec.env` whose names begin with `MCM.`. One row a setting. Every
 * other member of `env` is the service's own.
 */
import { RpcError } from '../errors/rpc-error.ts'
import { expectedCron, expectedTimeZone, readCron, readTimeZone } from './cron.ts'
import { readOutbound } from './outbound.ts'
import { type PortMapping, readPortMappings } from './ports.ts'
import { readConfigFolders, readConfigs } from './settings/configs.ts'
import { isFolder, readAppVolumes, readDevices, readMemoryFolders, readMounts } from './settings/files.ts'
import { choice, flag, number, orEngine, orImage, type Setting, setting } from './settings/form.ts'
import { listOf, readTexts, texts } from './settings/lists.ts'
import {
  isHostName,
  isUserPart,
  openFiles,
  readCapabilities,
  readHosts,
  readOpenFiles,
  reloadSignals,
  stopSignals,
} from './settings/program.ts'
import { readSecrets } from './settings/secrets.ts'

export {
  configModePattern,
  configText,
  isInFolder,
  maxConfigId,
  type UsedConfig,
  usedConfigs,
} from './settings/configs.ts'
export {
  gpuWord,
  isCdiName,
  isDevicePath,
  isFolder,
  isReservedFolder,
  runtimeFiles,
  type UsedAppVolume,
  type UsedDevice,
  type UsedMount,
  usedAppVolumes,
  usedDevices,
  usedMounts,
  usedVolumes,
} from './settings/files.ts'
export { containerCapabilities, openFiles } from './settings/program.ts'
export { secretNamePattern, type UsedSecret, usedSecrets } from './settings/secrets.ts'

const pathPattern = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/
const volumePattern = /^[a-z0-9][a-z0-9_-]{0,31}:\/[\w./-]{1,200}(?::ro)?$/

export const containerSettings = {
  'MCM.BASE_API_PATH': setting<string | undefined>(
    'Path under which the service answers; the runtime puts `/<clientId>` before it. Default: `/<name>`.',
    'a path such as "/example/v1", of letters, digits and . _ ~ -',
    undefined,
    (text) => (text.length <= 200 && pathPattern.test(text) ? text : undefined),
  ),
  'MCM.API_ALIAS': flag('Whether the service answers under `/api<base path>`, too.'),
  'MCM.GATEWAY': choice(
    'Whether the gateway leads requests to the service. With `off` it has no path: other members of its app, or ports of the device (`MCM.PORTS`), reach it.',
    ['on', 'off'],
  ),
  'MCM.ACCESS': choice(
    'Who may call: callers with any token of the account (`account`), with a token of the project that deployed it (`client`), people who signed in to the app of that project and are of the account or have a share (`users`), or everyone who can reach the gateway (`public`).',
    ['account', 'client', 'users', 'public'],
  ),
  'MCM.FORWARD_TOKEN': flag('Whether the gateway forwards the bearer token of the caller to the service.'),
  'MCM.EDGE_ID_TOKEN': flag(
    'Whether the service may call `getEdgeIdToken`: the token proves the identity of this device to a token endpoint.',
  ),
  'MCM.MANAGE': flag(
    'Whether the service may deploy, start, stop and remove images and containers, and associate and unassociate the account, with an access token that has the scope.',
  ),
  // Earlier releases accepted any text, and stored it.
  'MCM.WEBSOCKET_SUPPORT': setting<boolean>(
    'Whether clients receive the events of `context.dispatchWebSocketEvent`, over a WebSocket at `/ws/<clientId><base path>`: "true", or anything else for no.',
    'a text',
    false,
    (text) => text === 'true',
  ),
  // An empty list is an absent setting: its default depends on the engine (`outboundOf`).
  'MCM.OUTBOUND': setting<readonly string[]>(
    'Where the service may connect to: nothing (`none`), public addresses (`public`), or hosts, addresses and IPv4 networks such as `api.example.com`, `10.0.0.5:8080`, `10.1.2.0/24:502`; one without a port stands for 80 and 443. Functions reach them with `fetch` and by sockets; OCI containers with Podman by any connection, and else through their socket. Addresses that are not public need `services.outbound` of the device for packets of OCI containers. Link-local and metadata addresses are never reached. Default: `none` for functions, `public` for OCI containers.',
    '"none", or "public" and host names, addresses or IPv4 networks, each with an optional port, separated by commas',
    [],
    readOutbound,
  ),
  'MCM.IDLE_SEC': orEngine(
    number(
      'Seconds without a request after which the service is paused until the next one; 0 keeps it running. Default: 300 for functions, 0 for OCI containers.',
      0,
      0,
      86_400,
    ),
  ),
  'MCM.MAX_EXECUTION_TIME_SEC': number(
    'Timeout of a request in seconds: a service must have started its response, and a handler must have finished it.',
    30,
    0.1,
    3600,
  ),
  'MCM.CRON': setting<readonly string[]>(
    'When a function in JavaScript gets the event `scheduled`, and an OCI container a POST at `MCM.CRON_PATH`: cron expressions with five fields, in the time zone of `MCM.CRON_TZ`, such as `*/5 * * * *; 0 3 * * mon-fri`. If a day of the month and a day of the week are given, either suffices. One run at a time; a time that comes during a run is skipped.',
    expectedCron,
    [],
    readCron,
  ),
  'MCM.CRON_PATH': setting<string>(
    'Where an OCI container gets a POST at the times of `MCM.CRON`: a path below its root. The header `X-Selvedge-Scheduled` has the expression; the gateway removes it from all other requests. A status from 200 to 299 is a success.',
    'a path such as "/scheduled"',
    '/scheduled',
    (text) => (text.length <= 200 && /^\/[\w.~/-]*$/.test(text) ? text : undefined),
  ),
  'MCM.CRON_TZ': setting<string>(
    'Time zone of `MCM.CRON`. When the clock is set forward, a skipped time is due at the end of the gap; in a field with `*` or a step, it is left out. When the clock is set back, a repeated time is due once; with `*` or a step in the hour, it is due twice.',
    expectedTimeZone,
    'UTC',
    readTimeZone,
  ),
  'MCM.CRON_MISSED': choice(
    'What becomes of times of `MCM.CRON` that passed while the device, the runtime or the function was off: nothing (`skip`), or one run for the last of them of each expression (`run-once`). A time of the last minute is not missed.',
    ['skip', 'run-once'],
  ),
  'MCM.HEALTH_PATH': setting<string | undefined>(
    'Health check: a path below the base path that returns 200 while the service is healthy. A new version must pass it before it replaces the old one.',
    'a path such as "/health"',
    undefined,
    (text) => (text.length <= 200 && /^\/[\w.~/-]*$/.test(text) ? text : undefined),
  ),
  'MCM.HEALTH_CMD': orImage(
    'Health check of an OCI container without `MCM.HEALTH_PATH`: a command that exits with 0 in the container while it is healthy, within 30 seconds. `[]` for none. Default: the `HEALTHCHECK` of its image. It is checked as `MCM.HEALTH_PATH` is.',
    texts,
    readTexts,
  ),
  'MCM.HEALTH_SEC': number(
    'Timeout of a start in seconds: the service must listen and pass its health check.',
    30,
    1,
    600,
  ),
  'MCM.MEMORY_MB': orEngine(
    number('Maximum memory in MiB. Default: 128 for functions, 512 for OCI containers.', 0, 48, 1_048_576),
  ),
  'MCM.CPU': number('Maximum CPU time, in cores.', 1, 0.05, 128),
  'MCM.PIDS': number('Maximum number of processes and threads.', 128, 32, 32_768),
  'MCM.NOFILE': setting<number>(
    'Most files and sockets that each process of an OCI container may have open; or the hard limit of the runtime itself, if that is lower.',
    `a whole number from ${openFiles.min} to ${openFiles.max}`,
    openFiles.usual,
    readOpenFiles,
  ),
  'MCM.STORAGE_MB': number('Most that `context.storage` of a function may hold, in MiB.', 8, 0, 64),
  'MCM.COMMAND': orImage(
    'Program of an OCI container with its first arguments, in place of the `ENTRYPOINT` and the `CMD` of its image.',
    texts,
    (text) => {
      const command = readTexts(text)
      return command?.[0] ? command : undefined
    },
  ),
  'MCM.ARGS': orImage('Arguments of an OCI container, in place of the `CMD` of its image.', texts, readTexts),
  'MCM.USER': orImage(
    'User of an OCI container, with an optional group, by name or by ID up to 65535. Default: that of the image.',
    'a user such as "www-data", "1000" or "1000:1000"',
    (text) => {
      const parts = text.split(':')
      return parts.length <= 2 && parts.every(isUserPart) ? text : undefined
    },
  ),
  'MCM.WORKDIR': orImage(
    'Working directory of an OCI container. Default: that of the image.',
    'a path such as "/srv/app"',
    (text) => (text === '/' || isFolder(text) ? text : undefined),
  ),
  'MCM.STOP_SIGNAL': orImage(
    'Signal that stops an OCI container. Default: the `STOPSIGNAL` of its image, else SIGTERM.',
    `one of ${stopSignals.join(', ')}`,
    (text) => stopSignals.find((each) => each === text),
  ),
  'MCM.STOP_SEC': number(
    'Seconds for an OCI container to exit after the signal that stops it. Then it is killed; at most 10 when the runtime itself stops.',
    10,
    1,
    300,
  ),
  'MCM.READY': orImage(
    'When the start of an OCI container is complete: when its port accepts connections (`tcp`), when it answers HTTP with a status below 500 (`http`), when the health check of gRPC, `grpc.health.v1.Health/Check`, answers `SERVING` (`grpc`), when it writes a line with a text to its standard output or error (`log:<text>`), or at once (`none`). Default: `tcp`, and `none` for an image that exposes UDP ports only. `MCM.HEALTH_PATH` is checked after that.',
    '"tcp" or "http" or "grpc" or "none" or "log:" and a text of up to 200 characters in one line',
    (text) => (/^(?:tcp|http|grpc|none|log:[^\p{Cc}]{1,200})$/u.test(text) ? text : undefined),
  ),
  'MCM.HOSTS': setting<readonly string[]>(
    'Names with addresses for `/etc/hosts` of an OCI container, such as `db=10.0.0.5`.',
    'name=address pairs, separated by commas',
    [],
    readHosts,
  ),
  'MCM.LOCAL_TIME': flag(
    'Whether an OCI container has the time zone of the device, as it is when the container starts: copies of `/etc/localtime` and `/etc/timezone`. Default: that of its image, which usually is UTC.',
  ),
  'MCM.HOSTNAME': orImage(
    'Host name of an OCI container. Default: one that is made from its ID.',
    'up to 63 letters, digits and . _ -, beginning and ending with a letter or digit',
    (text) => (isHostName(text) ? text : undefined),
  ),
  'MCM.CAPABILITIES': orImage(
    'Capabilities that an OCI container keeps of those of its profile, such as `CHOWN, SETGID, SETUID`; an empty text for no capability. Default: all of the profile. A program that does not start as root never has a capability.',
    'names such as CHOWN of the profile, separated by commas; each once',
    readCapabilities,
  ),
  'MCM.PORT': setting<number | undefined>(
    'Port that an OCI container listens on. Default: the one that its image exposes, of several the one for HTTP, else 8080.',
    'a port from 1 to 65535',
    undefined,
    (text) =>
      /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535 ? Number(text) : undefined,
  ),
  'MCM.PROTOCOL': choice(
    'What an OCI container speaks on its port: HTTP/1.1 (`http/1.1`), or HTTP/2 without TLS, as servers of gRPC do (`h2c`).',
    ['http/1.1', 'h2c'],
  ),
  'MCM.PORTS': setting<readonly PortMapping[]>(
    'Ports of the device that lead to an OCI container, beside HTTP by the gateway, such as `1883/tcp, 5683/udp`; `8883:1883/tcp` leads to port 1883 of the container, and `21100-21110` means eleven ports. They are open to programs of the device, without a check of tokens; to the network only if `services.publish` of the device lists them.',
    'up to 16 ports such as 1883/tcp, 8883:1883/tcp or the range 21100-21110, separated by commas',
    [],
    readPortMappings,
  ),
  'MCM.NETWORK': choice(
    'Network of an OCI container: one of its own, from which it reaches no other container and nothing but `MCM.OUTBOUND` (`isolated`); or the network of the engine, from which it reaches whatever the device reaches, and other `open` containers (`open`); or that of the device itself, where the configuration of the device allows it with `services.hostNetwork` (`host`).',
    ['isolated', 'open', 'host'],
  ),
  'MCM.ROOT': choice(
    'Root file system of an OCI container. `writable`: its own, of at most `MCM.ROOT_MB`, removed with the instance. `read-only`: that of the image, with `/run`, `/tmp` and `/var/tmp` in memory, 64 MiB each. In nearly all images, `/var/run` is a link to `/run`, and is in memory, too.',
    ['writable', 'read-only'],
  ),
  'MCM.ROOT_MB': number(
    'Most that an OCI container may write to its root file system and to the volumes that its image declares, in MiB together. A container that has more is stopped.',
    256,
    1,
    1_048_576,
  ),
  'MCM.TMPFS': setting<readonly string[]>(
    'Folders of an OCI container in memory, each with its size in MiB (64), such as `/cache:16`. `/var/run` means `/run`. They count as memory of the container.',
    'paths, each with an optional size, separated by commas',
    [],
    readMemoryFolders,
  ),
  'MCM.SHM_MB': number('Size of `/dev/shm` of an OCI container, in MiB.', 64, 1, 65_536),
  'MCM.VOLUMES': setting<readonly string[]>(
    'Volumes of an OCI container, such as `data:/var/lib/data`; `data:/var/lib/data:ro` is one that it cannot write. They stay when the container is redeployed, and are removed with it.',
    'name:/path pairs, each with an optional ":ro", separated by commas',
    [],
    (text) => listOf(volumePattern, text),
  ),
  'MCM.APP_VOLUMES': setting<readonly string[]>(
    'Volumes of an app that one of its members shares with others, such as `shop/data:/var/lib/data`; with `:ro` it cannot write them. All members that share have the same user IDs. The volumes belong to the app: they stay when it is redeployed, and are removed with it. `deployApp` sets it from the plan; it is not possible for single containers.',
    'app/name:/path, each with an optional ":ro", separated by commas; at most 64 of one app, each name and each path once',
    [],
    readAppVolumes,
  ),
  'MCM.SECRETS': setting<readonly string[]>(
    'Secrets of the project that the service gets, such as `db-password, tls-key:/run/secrets/key.pem`: an OCI container as files in memory in `/run/secrets`, which every user in it can read; a function by `context.secrets.get(name)`. A service with a secret that is not set waits for it. Their values are hidden in its log.',
    'names of secrets, each with an optional ":/run/secrets/" and a file name, separated by commas; at most 32, each once',
    [],
    readSecrets,
  ),
  'MCM.SECRETS_SIGNAL': setting<string | undefined>(
    'Signal for an OCI container when one of its secrets was set again: its program reads the new file. Default: a new revision of the container starts, and replaces the one before when it is healthy.',
    `one of ${reloadSignals.join(', ')}`,
    undefined,
    (text) => reloadSignals.find((each) => each === text),
  ),
  'MCM.CONFIGS': setting<readonly string[]>(
    'Files of an app that one of its members gets, read-only: the SHA-256 of the content, the path in the OCI container, permissions, user and group. `deployApp` sets it from the plan; it is not possible for single containers.',
    'digest:/path:mode:uid:gid, separated by commas; at most 64, each path once',
    [],
    readConfigs,
  ),
  'MCM.CONFIG_FOLDERS': setting<readonly string[]>(
    'Folders of an OCI container that have the files of `MCM.CONFIGS` below them and nothing else, read-only, in place of those of its image. `deployApp` sets it from the plan; it is not possible for single containers.',
    'paths, separated by commas; at most 16, not in each other',
    [],
    readConfigFolders,
  ),
  'MCM.DEVICES': setting<readonly string[]>(
    'Devices that an OCI container gets, such as `/dev/ttyUSB0, /dev/serial/by-id/usb-gps`, under the same paths; `/dev/serial/by-id/usb-stick:/dev/ttyACM0` gives it a further path. `gpu` means the graphics processors in `/dev/dri`, and `vendor.com/class=name` a device of the Container Device Interface (CDI). The configuration of the device must allow each with `services.devices`. The runtime has to run as root, with Podman.',
    'paths of device nodes below /dev, each with an optional colon and its path in the container, "gpu", or names of CDI such as vendor.com/class=name, separated by commas; at most 32, each path in the container once',
    [],
    readDevices,
  ),
  'MCM.MOUNTS': setting<readonly string[]>(
    'Folders or files of the device that an OCI container gets, such as `/srv/media:/media:ro`; `rw` makes one writable. The configuration of the device must allow each with `services.mounts`. The runtime has to run as root, with Podman.',
    '/path:/path pairs, each with an optional ":ro" or ":rw", separated by commas; at most 32, without links, "." and ".."',
    [],
    readMounts,
  ),
  'MCM.PAGES': choice(
    'Whether browsers isolate the pages of the service from those of the runtime and of other services (`sandboxed`), or treat them as one site (`trusted`).',
    ['sandboxed', 'trusted'],
  ),
} as const satisfies Readonly<Record<string, Setting<unknown>>>

/** Settings of other runtimes of this API family. They are accepted and ignored, or the runtime sets them itself. */
export const ignoredSettings: readonly string[] = [
  'MCM.RUNTIME',
  'MCM.DB_ENCRYPTION_SUPPORT',
  'MCM.DB_EMBEDDING_SUPPORT',
  'MCM.LINKLOCAL_REPLAY_NONCE_SUPPORT',
  'MCM.OTEL_SUPPORT',
  'MCM.CHILD_RUNTIME',
]

type Settings = typeof containerSettings
export type ContainerSettings = { readonly [Name in keyof Settings]: Settings[Name]['default'] }

/**
 * The settings of a container, defaults included.
 *
 * @throws RpcError `invalid_params` for an invalid value, or for a name beginning with `MCM.` that is not listed
 */
export function readSettings(env: Readonly<Record<string, string>>): ContainerSettings {
  const settings: Record<string, unknown> = {}
  for (const [name, { default: fallback, read, expected }] of Object.entries(containerSettings)) {
    const text = Object.hasOwn(env, name) ? env[name] : undefined
    const value = text === undefined ? fallback : read(text)
    if (value === undefined && text !== undefined) {
      throw new RpcError(
        'invalid_params',
        `env["${name}"] is ${JSON.stringify(text.slice(0, 80))}; expected ${expected}`,
      )
    }
    settings[name] = value
  }
  for (const name of Object.keys(env)) {
    if (
      name.startsWith('MCM.') &&
      !Object.hasOwn(containerSettings, name) &&
      !ignoredSettings.includes(name)
    ) {
      throw new RpcError('invalid_params', `env["${name}"] is not a setting of this runtime`, {
        hint: `Settings are ${Object.keys(containerSettings).join(', ')}. Names without "MCM." are the service's own.`,
      })
    }
  }
  return settings as unknown as ContainerSettings
}
