/** Keys of a Compose file itself, and of its networks, volumes, secrets and configs. */
import { ignored, type Key, type Keys, refused, used } from './service/draft.ts'

const read = () => undefined

export const fileKeys: Keys = {
  name: used('the name of the app; else that of its folder', read),
  services: used('the containers of the app', read),
  networks: used('networks of the app', read),
  volumes: used('volumes of the app', read),
  secrets: used('secrets: of the project, or set from files and variables when the app is deployed', read),
  configs: used('files of the app', read),
  version: ignored('Compose reads every version in the same way.'),
  include: refused('Files are not included yet. Name each with "-f", or use "extends" for single services.'),
  models: refused('Models are not supported. Use a service with an image.'),
}

const labels: Key = ignored('Labels change nothing here.')
const driverOptions: Key = refused('Options of drivers are not supported. Remove them.')

const networkKeys: Keys = {
  driver: used('nothing for `bridge`; others are refused', read),
  internal: used('a network without a way out', read),
  name: ignored('Names on the device begin with that of the app.'),
  labels,
  attachable: ignored('It is for a swarm.'),
  driver_opts: driverOptions,
  external: refused(
    'Containers of other apps are not reached. Remove it: the app gets a network of its own.',
  ),
  ipam: refused('The engine chooses addresses: services find each other by name. Remove it.'),
  enable_ipv4: refused('The engine chooses addresses. Remove it.'),
  enable_ipv6: refused('The engine chooses addresses. Remove it.'),
}

const volumeKeys: Keys = {
  driver: used('nothing for `local`; others are refused', read),
  name: ignored('Names on the device begin with that of the app.'),
  labels,
  driver_opts: driverOptions,
  external: refused('Volumes belong to their app. Remove it: the app gets a volume of its own.'),
}

const secretKeys: Keys = {
  file: used('a secret that is set from a file of the folder when the app is deployed', read),
  environment: used('a secret that is set from a variable when the app is deployed', read),
  external: used('a secret of the project: `selvedge secret set`', read),
  name: used('name of the secret of the project', read),
  labels,
  driver: refused('Secrets are stored on the device. Remove it.'),
  driver_opts: driverOptions,
  template_driver: refused('Secrets have no templates. Remove it.'),
}

const configKeys: Keys = {
  file: used('a file of the folder', read),
  content: used('the text itself', read),
  environment: used('the value of a variable', read),
  name: ignored('Names on the device begin with that of the app.'),
  labels,
  external: refused('Configs belong to their app. Write "file" or "content".'),
  template_driver: refused('Configs have no templates. Remove it.'),
}

export const partKeys = {
  networks: networkKeys,
  volumes: volumeKeys,
  secrets: secretKeys,
  configs: configKeys,
} as const
