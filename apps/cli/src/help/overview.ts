/** What `selvedge --help` lists: each first word of a command once, the everyday ones first. */

interface Section {
  readonly title: string
  /** First words of commands in the order of the help, each with what it is for. A word without a command is left out. */
  readonly words: Readonly<Record<string, string>>
}

/** Commands that a new user needs on the first day, in the order in which they are needed. */
export const everyday = [
  'up',
  'init',
  'dev',
  'deploy',
  'ps',
  'logs',
  'curl',
  'why',
  'status',
  'doctor',
] as const

export const sections: readonly Section[] = [
  {
    title: 'Everyday commands',
    words: {
      up: 'Sign in, and make this device yours',
      init: 'Create a small project: function, worker, wasm or oci',
      dev: 'Deploy a folder, and again at each save',
      deploy: 'Deploy a folder or a Compose file once',
      ps: 'List your services, with state, memory and path',
      logs: 'Show the log of a service; --follow for new lines',
      curl: 'Call a service, with your token',
      why: 'Show what happened to a service, who caused it, and why',
      status: 'Show which programs run, and what needs attention',
      doctor: 'Check this device, and show how to fix what fails',
    },
  },
  {
    title: 'Services',
    words: {
      stop: 'Stop a service; it stays stopped',
      start: 'Start a service that was stopped',
      restart: 'Restart a service',
      redeploy: 'Deploy a service again with the same image and settings',
      share: 'Let other people call a service until a time',
      group: 'Groups of people to share services with',
      secret: 'Passwords and keys that services get',
      container: 'Each step for services: deploy an image, wait, remove',
      image: 'Images on the device: pack, deploy, list, remove',
      app: 'Apps of several containers: list, start, stop, remove',
      compose: 'Check a Compose file before it is deployed',
      open: 'Open the console or a service in the browser',
    },
  },
  {
    title: 'Device',
    words: {
      me: 'Show node ID, account, name and version',
      watch: 'Show the state of the device and each change',
      gps: 'Report, show or follow the location of the device',
      location: 'Choose who can see the location, and for how long',
      nodes: 'List devices of the account, nearby, or on this network',
      account: 'Associate the device with an account, or remove it',
      'join-key': 'Keys by which new devices join your account by themselves',
      join: 'Devices that wait until you approve them',
      device: 'Adopt a node after a board swap, or prepare a disk image',
      service: 'The systemd service of an installed runtime',
      upgrade: 'Install another release, with a way back',
      support: 'Write a file to send with a question',
    },
  },
  {
    title: 'Signing in',
    words: {
      login: 'Sign in with a browser on any device',
      logout: 'End the sign-in of this user',
      whoami: 'Show who you are for this device, and until when',
      context: 'Names for several devices, to switch between them',
      token: 'Get tokens for scripts',
    },
  },
  {
    title: 'Operators and tools',
    words: {
      admin: 'Accounts, projects, tokens and keys of the identity service',
      call: 'Call any method of the runtime',
      hmac: 'Create and verify HMAC codes of this device',
      simulate: 'Run a virtual fleet, to measure an installation',
      completion: 'Print the completion script of a shell',
    },
  },
]
