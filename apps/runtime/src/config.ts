/** Every setting of the runtime. */
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  expectedRules,
  readAddressRule,
  readDeviceRule,
  readIpv4Range,
  readMountRule,
  readNetworkRule,
  readPortRules,
} from '@selvedge/protocol'
import { type ConfigOf, daemonOptions, option } from '@selvedge/service-kit/config'
import { readWindow } from './device/metering/allowance.ts'
import { meteredSettings } from './device/metering/metered-link.ts'
import { isRegistryHost, readMirrorRule } from './services/images/registry/mirrors.ts'

export const runtimeOptions = {
  state: option.text(
    './.selvedge',
    'Folder of the state; the runtime uses its subfolder "runtime", and "runtime.sock" in it.',
    {
      env: 'SELVEDGE_STATE',
    },
  ),
  name: option.text('', 'Name of the device. Default: its host name.', { env: 'SELVEDGE_NAME' }),
  'listen.addresses': option.list(
    ['127.0.0.1', '::1'],
    'Addresses to listen on; one that the machine does not have is left out, except the first. Addresses other than the loopback interface need listen.tlsCert, listen.tlsKey and apiKey.',
  ),
  'listen.port': option.port(8083, 'TCP port. 0: any free port.', { env: 'SELVEDGE_RUNTIME_PORT' }),
  'listen.socket': option.text(
    '',
    'Path of the Unix socket of the API. Empty: runtime.sock in the state folder, which only the user of the runtime and root can reach.',
    { env: 'SELVEDGE_RUNTIME_SOCKET' },
  ),
  'listen.hosts': option.list(
    [],
    'Host names, in addition to localhost, that the Host header of a request may have (protects against DNS rebinding). A proxy in front is named with its port: device.example:443 accepts device.example without a port, too.',
  ),
  'listen.tlsCert': option.text('', 'File with the TLS certificate chain (PEM).'),
  'listen.tlsKey': option.text('', 'File with the private key of the TLS certificate (PEM).'),
  apiKey: option.boolean(
    false,
    'Whether every method except getMe needs the API key. The key is in the file "api-key" of the state folder, created at the first start.',
  ),
  allowedOrigins: option.list(
    [],
    'Origins of web pages that may call the API, such as https://console.example.',
  ),
  'compat.flatGetMe': option.boolean(true, 'Whether getMe repeats its four fields next to id and jsonrpc.'),
  'gps.positionalOrder': option.choice(
    ['longitude-first', 'latitude-first'],
    'longitude-first',
    'Order of the first two positional values of updateGps.',
  ),
  'gps.source': option.text(
    '',
    'GPS receiver to follow: gpsd://host:port, or nmea: and the path of a device or a file. Empty: no receiver.',
    { env: 'SELVEDGE_GPS_SOURCE' },
  ),
  'gps.maxError': option.count(
    50,
    [1, 100_000],
    'Metres. Send a new fix when dead reckoning from the last one is off by more than this.',
  ),
  'gps.maxInterval': option.seconds(
    120,
    [1, 86_400],
    'Maximum time between two fixes of the receiver, even if dead reckoning is accurate.',
  ),
  'linkLocal.enabled': option.boolean(
    true,
    'Whether the node announces itself on the local network (DNS-SD, _selvedge._tcp) and listens for other nodes. Names and services are encrypted for nodes of the account.',
    { env: 'SELVEDGE_LINK_LOCAL' },
  ),
  'linkLocal.interfaces': option.list(
    [],
    'Network interfaces for link-local discovery. Empty: all except the loopback interface.',
  ),
  'identity.url': option.url(
    'http://127.0.0.1:8084',
    'Identity service that registers this node (its cloud role).',
    {
      env: 'SELVEDGE_IDENTITY_URL',
    },
  ),
  'identity.tenants': option.list([], 'Issuers of the access tokens that are accepted. Empty: identity.url.'),
  'identity.enrolmentCode': option.text(
    '',
    'One-time enrolment code, if the identity service requires one.',
    {
      env: 'SELVEDGE_ENROLMENT_CODE',
    },
  ),
  'identity.joinKey': option.text(
    '',
    'Join key, by which the device joins an account without a person. It is used once: a device that has an account ignores it.',
    { env: 'SELVEDGE_JOIN_KEY' },
  ),
  'identity.joinKeyFile': option.text(
    '',
    'File with the join key, with mode 0600, of root or of the user of the runtime. Empty: with the systemd unit, /etc/selvedge/join-key.',
  ),
  'telemetry.enabled': option.boolean(
    true,
    'Whether the device states to its identity service, for its owner, how it is: system, addresses, load, memory, disk, clock, engines, notices and restarts of services. Name, version and the list of its services are not part of this.',
    { env: 'SELVEDGE_TELEMETRY' },
  ),
  'revocations.interval': option.seconds(
    30,
    [1, 3600],
    'Poll interval for the list of revoked tokens. A revoked token may be accepted for this long.',
  ),
  'offline.maxListAgeDays': option.count(
    7,
    [1, 90],
    'Days for which the list of revoked tokens counts after the identity service confirmed it. Once it is older, leases are refused. A removed member can work at this device with a lease for this long at most after its network is cut.',
  ),
  'discovery.url': option.url('http://127.0.0.1:8085', 'Discovery service that receives the locations.', {
    env: 'SELVEDGE_DISCOVERY_URL',
  }),
  'images.reserve': option.bytes(
    512 * 1024 * 1024,
    'Bytes of free disk space to keep. A deployment that would leave less is refused before it starts.',
  ),
  'images.maxSize': option.bytes(
    4 * 1024 * 1024 * 1024,
    'Maximum size of an image in bytes, as an archive and unpacked.',
  ),
  'images.registryAuth': option.text(
    '',
    'File with the credentials of image registries, in the format of Docker’s config.json. Empty: no credentials.',
  ),
  'images.mirrors': option.rules(
    (text) => readMirrorRule(text) !== undefined,
    'rules such as docker.io=mirror.example:5000, or docker.io=mirror.example/path',
    'Mirrors of image registries, each as <registry>=<mirror>. They are tried in this order before the registry; Docker Hub is docker.io. Empty: no mirrors.',
  ),
  'images.insecure': option.rules(
    isRegistryHost,
    'hosts of registries such as registry.local:5000, without a path',
    'Image registries and mirrors that may have an unknown certificate, or no TLS: anyone on the network can pose as them and read their credentials. Empty: no registries.',
  ),
  'images.pullTimeout': option.seconds(
    86_400,
    [60, 604_800],
    'How long the download of an image from a registry may last as a whole.',
  ),
  'images.partialAge': option.seconds(
    604_800,
    [0, 2_592_000],
    'How long uploads, and layers of which a part has arrived, stay on the disk, so that the next connection or download continues them. 0: a layer is removed when its download fails, and an upload after an hour or a restart.',
  ),
  'oci.socket': option.text(
    '',
    'Unix socket of the container engine (Docker Engine API). Empty: that of CONTAINER_HOST or DOCKER_HOST (unix://), else the first of Podman, Docker and balenaEngine that is found and that no other user could have made.',
    { env: 'SELVEDGE_OCI_SOCKET' },
  ),
  'oci.cdiFolders': option.list(
    ['/etc/cdi', '/var/run/cdi'],
    'Folders with files of the Container Device Interface (JSON or YAML), for names such as vendor.com/class=name in MCM.DEVICES. A later folder counts more.',
  ),
  'services.devices': option.rules(
    (text) => readDeviceRule(text) !== undefined,
    expectedRules.devices,
    'Devices that OCI containers may get with MCM.DEVICES, each with the service, project or image, such as "/dev/ttyUSB0 service=my-project-gpsd". Empty: no devices.',
  ),
  'services.mounts': option.rules(
    (text) => readMountRule(text) !== undefined,
    expectedRules.mounts,
    'Folders and files of the device that OCI containers may get with MCM.MOUNTS, each with the service, project or image, such as "/srv/media:rw service=my-project-player". Without ":rw" they are read-only. Empty: no folders.',
  ),
  'services.hostNetwork': option.rules(
    (text) => readNetworkRule(text) !== undefined,
    expectedRules.hostNetwork,
    'OCI containers that may use the network of the device with MCM.NETWORK "host", such as "service=my-project-avahi". There they reach all programs of the device on the loopback. Empty: no containers.',
  ),
  'services.publish': option.rules(
    (text) => readPortRules(text).length > 0,
    expectedRules.publish,
    'Ports of MCM.PORTS that OCI containers may open to the network, and privileged ports that they may open at all, each with the service, project or image, such as "1883/tcp service=my-project-broker". With an address, "127.0.0.1:80/tcp service=my-project-web", a privileged port is open to programs of the device alone. Empty: services open ports from 1024 on, to programs of the device.',
  ),
  'services.outbound': option.rules(
    (text) => readAddressRule(text) !== undefined,
    expectedRules.outbound,
    'IPv4 addresses and networks that are not public, and that OCI containers may connect to if their MCM.OUTBOUND lists them, each with the service, project or image, such as "10.1.2.0/24:502 service=my-project-plc"; without a port: all. Addresses of the device itself need a rule each. Empty: no such address.',
  ),
  'services.nameServers': option.rules(
    (text) => !text.includes('/') && readIpv4Range(text) !== undefined,
    'IPv4 addresses, each with an optional port, such as 9.9.9.9 or 127.0.0.1:5353',
    'Name servers that answer for OCI containers with a way out. Empty: those of the device.',
  ),
  'network.metered': option.choice(
    meteredSettings,
    'auto',
    'Whether the link of this device costs by its bytes. Then downloads of images wait, unless they are deployed with "now", and reports of receivers are coarser. "auto": as NetworkManager has it; without it, a modem is metered.',
  ),
  'network.downloadTimes': option.rules(
    (text) => readWindow(text) !== undefined,
    'times of the day such as 01:00-05:00',
    'Times of the day in which images are downloaded on a metered link, too, in the time zone of the device. Empty: at no time.',
  ),
  'network.dayBudget': option.bytes(
    0,
    'Bytes that may be sent and received on a day before downloads of images wait for the next one. 0: no limit.',
  ),
  'network.monthBudget': option.bytes(
    0,
    'Bytes that may be sent and received in a calendar month before downloads of images wait for the next one. 0: no limit.',
  ),
  ...daemonOptions,
} as const

export type RuntimeConfig = ConfigOf<typeof runtimeOptions>

export const deviceName = ({ name }: RuntimeConfig): string => name || hostname()

/** Path of the Unix socket of the API. */
export const socketOf = ({ state, 'listen.socket': socket }: RuntimeConfig): string =>
  socket || join(state, 'runtime.sock')
