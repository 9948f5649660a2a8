/** Message brokers with a client of npm, in a function. */
import { downloadPackages, versionOf } from '../debian-packages.ts'
import { expectText } from '../expect-text.ts'
import type { Program } from '../field.ts'
import { asUser, makeImage } from '../make-image.ts'

const rabbitmq: Program = {
  name: 'rabbitmq',
  manner: 'root, `chown`, drops to `rabbitmq`; makes a user from variables',
  version: () => versionOf(downloadPackages(['rabbitmq-server']), 'rabbitmq-server'),
  env: {
    RABBITMQ_DEFAULT_USER: 'app',
    RABBITMQ_DEFAULT_PASS: 'secret',
    // Its data is in a folder with the name of the node.
    RABBITMQ_NODENAME: 'rabbit@localhost',
    'MCM.PORTS': 'PORT:5672',
    'MCM.PORT': '5672',
    'MCM.MEMORY_MB': '512',
  },
  image: () =>
    makeImage({
      name: 'rabbitmq',
      packages: ['rabbitmq-server'],
      users: 'rabbitmq:x:999:999::/var/lib/rabbitmq:/bin/bash\n',
      config: {
        Env: ['HOME=/var/lib/rabbitmq', 'RABBITMQ_LOGS=-'],
        Entrypoint: ['docker-entrypoint.sh'],
        Cmd: ['rabbitmq-server'],
        Volumes: { '/var/lib/rabbitmq': {} },
        ExposedPorts: { '5672/tcp': {}, '4369/tcp': {}, '25672/tcp': {} },
      },
      fill(root) {
        root.folder('var/lib/rabbitmq', 999)
        root.script(
          'usr/local/bin/docker-entrypoint.sh',
          `#!/bin/bash
set -e
PATH=/usr/lib/rabbitmq/bin:$PATH
if [ "$1" = rabbitmq-server ] && [ "$(id -u)" = 0 ]; then
  mkdir -p /var/log/rabbitmq
  find /var/lib/rabbitmq /var/log/rabbitmq \\! -user rabbitmq -exec chown rabbitmq: '{}' +
  ${asUser('rabbitmq')} "$0" "$@"
fi
printf 'default_user = %s\\ndefault_pass = %s\\n' "$RABBITMQ_DEFAULT_USER" "$RABBITMQ_DEFAULT_PASS" > /tmp/rabbitmq.conf
export RABBITMQ_CONFIG_FILE=/tmp/rabbitmq.conf
exec "$@"
`,
        )
      },
    }),
  used: '`amqplib` in a function: a topic exchange, a confirmed message of 100 kB, a queue that is not there',
  async use({ port, callFunction }) {
    const answer = await callFunction('amqplib', { URL: `amqp://app:secret@127.0.0.1:${port}` })
    expectText(answer, /^\["meter\.1\.power","kWh",100000,404\]$/)
  },
  store: ({ exec }) =>
    void exec(
      'bash',
      '-c',
      `PATH=/usr/lib/rabbitmq/bin:$PATH rabbitmqctl -q set_policy stored '^x$' '{"max-length":7}'`,
    ),
  stored: ({ exec }) =>
    expectText(
      exec('bash', '-c', 'PATH=/usr/lib/rabbitmq/bin:$PATH rabbitmqctl -q list_policies'),
      /stored.*"max-length":7/,
    ),
}

export const brokers: readonly Program[] = [rabbitmq]
