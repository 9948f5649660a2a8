/** The commands that connect a device to a project, by what is installed on the device. Tests run them as they are here. */
import type { ConsoleProject } from '@selvedge/protocol/console'

export const platforms = ['Debian package', 'Tarball', 'Clone', 'Container'] as const
export type Platform = (typeof platforms)[number]

export interface Step {
  /** What happens when it is done: the page marks it then. */
  readonly until: 'connected' | 'deployed' | 'located'
  readonly title: string
  readonly about?: string
  /** Lines of a shell. */
  readonly commands: string
}

interface Services {
  readonly identityUrl: string
  readonly discoveryUrl: string
  /** Of the service. */
  readonly version: string
}

/** The command line as it is typed on each platform, for what changes the device. */
const programs: Readonly<Record<Platform, string>> = {
  'Debian package': 'sudo selvedge',
  Tarball: 'sudo selvedge',
  Clone: 'npx selvedge',
  Container: 'podman exec -it selvedge /usr/lib/selvedge/bin/selvedge',
}

/** A folder for the first service; in a container, one that its user may write to. */
const folderOf = (platform: Platform): string => (platform === 'Container' ? '/tmp/hello' : 'hello')

/** Steps in the order in which they are done. */
export function stepsOf(platform: Platform, services: Services, project: ConsoleProject): readonly Step[] {
  const program = programs[platform]
  const folder = folderOf(platform)
  const maker = program.replace('sudo ', '')
  return [
    ...installationOf(platform, services),
    {
      until: 'connected',
      title: 'Sign in and connect',
      about: 'Shows a code. Approve it here in the console.',
      commands: `${program} up --client-id ${project.clientId}${scopeOf(project)}`,
    },
    {
      until: 'deployed',
      title: 'Deploy a first service',
      about: 'A small project in TypeScript. It is deployed again at each save.',
      commands: `${maker} init worker ${folder}\n${program} dev ${folder}`,
    },
    {
      until: 'located',
      title: 'Report a location',
      commands: `${program} gps update --longitude -123.115 --latitude 49.25 --speed 0 --bearing 0`,
    },
  ]
}

/** A step for each platform that needs one before its runtime answers. */
function installationOf(platform: Platform, services: Services): readonly Step[] {
  const until = 'connected'
  const addresses = isHere(services.identityUrl) ? '' : `\n${settingsOf(services)}`
  if (platform === 'Debian package')
    return [
      {
        until,
        title: 'Install the runtime',
        about: 'The package is in “dist/deb” after “npm run package”. Copy it to the device.',
        commands: `sudo apt install ./selvedge_*.deb${addresses}`,
      },
    ]
  if (platform === 'Tarball')
    return [
      {
        until,
        title: 'Install the runtime',
        about: 'The file is in “dist/tar” after “npm run package”. Copy it to the device.',
        commands: `tar xzf selvedge-[0-9]*-linux-*.tar.gz\nsudo selvedge-[0-9]*-linux-*/bin/selvedge service install${addresses}`,
      },
    ]
  if (platform === 'Clone')
    return [
      {
        until,
        title: 'Start the stack',
        about: 'In the folder of the clone. Run the next commands there in a second terminal.',
        commands: isHere(services.identityUrl)
          ? 'npm start'
          : `${variablesOf(services)
              .map((each) => `${each} `)
              .join('')}npm start`,
      },
    ]
  const network = isHere(services.identityUrl) ? ['--network host'] : []
  const variables = isHere(services.identityUrl) ? [] : variablesOf(services).map((each) => `--env ${each}`)
  const options = [
    '--detach --init --name selvedge --volume selvedge:/var/lib/selvedge',
    ...network,
    ...variables,
  ]
  return [
    {
      until,
      title: 'Start the runtime',
      about: 'Build the image first, as in docs/containers.md.',
      commands: `podman run ${options.join(' \\\n  ')} \\\n  selvedge-runtime:${services.version}`,
    },
  ]
}

/** Writes the addresses of the services for an installed runtime, and restarts it with them. */
function settingsOf({ identityUrl, discoveryUrl }: Services): string {
  const runtime = {
    identity: { url: identityUrl },
    ...(!isHere(discoveryUrl) && { discovery: { url: discoveryUrl } }),
  }
  return `echo ${quoted(JSON.stringify({ runtime }))} | sudo tee /etc/selvedge/runtime.json\nsudo systemctl restart selvedge`
}

const variablesOf = ({ identityUrl, discoveryUrl }: Services): readonly string[] => [
  `SELVEDGE_IDENTITY_URL=${quoted(identityUrl)}`,
  ...(isHere(discoveryUrl) ? [] : [`SELVEDGE_DISCOVERY_URL=${quoted(discoveryUrl)}`]),
]

/** Whether an address is of the machine itself: what a runtime uses without settings. */
const isHere = (url: string): boolean =>
  /^https?:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)/.test(url)

/** One word of a shell. */
const quoted = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** Scopes that "selvedge up" requests. */
const usual = [
  'openid',
  'edge:mcm',
  'edge:clusters',
  'edge:account:associate',
  'edge:account:unassociate',
  'offline_access',
]

/** The option for a project that may not have all of the usual scopes. */
function scopeOf({ scopes }: ConsoleProject): string {
  const allowed = usual.filter((each) => (scopes as readonly string[]).includes(each))
  return allowed.length === usual.length ? '' : ` --scope ${quoted(allowed.join(' '))}`
}
