/** Programs that use a device: stand-ins are pseudo-terminals, and a node that gives bytes as a camera does. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { gpsdImage } from '../../services/public-images.ts'
import { downloadPackages, versionOf } from '../debian-packages.ts'
import { expectText } from '../expect-text.ts'
import type { Program } from '../field.ts'
import { greeting } from '../greeting.ts'
import { installedVersion } from '../installed-version.ts'
import { installFromNpm, makeImage, npmVersion } from '../make-image.ts'
import { modbusSlave, receiver, sensor } from './terminals.ts'

/** A pseudo-terminal under a name of `/dev`, with a program at its other end that prints its path. */
export async function openTerminal(node: string, program: string): Promise<() => void> {
  const child: ChildProcess = spawn('python3', ['-u', '-c', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  symlinkSync(line.toString().trim(), node)
  return () => {
    rmSync(node)
    child.kill('SIGKILL')
  }
}

const gpsd: Program = {
  name: 'gpsd',
  manner: 'root; reads a receiver',
  version: () => installedVersion('gpsd', '-V', /([\d.]+)/),
  env: { 'MCM.DEVICES': 'DEVICE', 'MCM.ARGS': '["DEVICE"]', 'MCM.PORTS': 'PORT:2947' },
  device: (node) => openTerminal(node, receiver),
  image: () => gpsdImage('/dev/null'),
  used: 'positions of a receiver at a pseudo-terminal, at the port',
  async use({ port }) {
    expectText(
      await greeting(port, Buffer.from('?WATCH={"enable":true,"json":true};\n'), '"class":"TPV"'),
      /"lat":47\.285/,
    )
  },
}

const modbus: Program = {
  name: 'modbus (mbpoll)',
  manner: 'root; polls registers, and serves them as a page',
  version: () => versionOf(downloadPackages(['mbpoll']), 'mbpoll'),
  env: { 'MCM.DEVICES': 'DEVICE', SERIAL: 'DEVICE' },
  device: (node) => openTerminal(node, modbusSlave),
  image: () =>
    makeImage({
      name: 'modbus',
      packages: ['mbpoll'],
      config: { Entrypoint: ['/poll.sh'], ExposedPorts: { '8000/tcp': {} }, Volumes: { '/www': {} } },
      fill(root) {
        root.script(
          'poll.sh',
          `#!/bin/sh
httpd -p 8000 -h /www
while :; do
  mbpoll -m rtu -b 9600 -a 1 -r 1 -c 2 -t 4 -1 -q "$SERIAL" > /www/new.txt 2>&1
  mv /www/new.txt /www/registers.txt
  sleep 1
done
`,
        )
      },
    }),
  used: 'Modbus RTU with a slave at a pseudo-terminal; its registers through the gateway',
  use: async ({ http }) => expectText(await http('/registers.txt'), /\[1\]:\s+215\s+\[2\]:\s+48/),
}

const zigbee: Program = {
  name: 'zigbee2mqtt (stand-in)',
  manner: 'root; its library for serial ports of npm, with native code',
  version: () => `serialport ${npmVersion('serialport', 'serialport')}`,
  env: { 'MCM.DEVICES': 'DEVICE', SERIAL: 'DEVICE' },
  device: (node) => openTerminal(node, sensor),
  image: () =>
    makeImage({
      name: 'zigbee2mqtt',
      packages: ['libstdc++6'],
      config: {
        WorkingDir: '/app',
        Entrypoint: ['node', 'index.mjs'],
        Volumes: { '/app/data': {} },
        ExposedPorts: { '8080/tcp': {} },
      },
      fill(root) {
        cpSync(process.execPath, join(root.path, 'usr/bin/node'), { dereference: true })
        cpSync(installFromNpm(['serialport@13'], 'serialport'), join(root.path, 'app'), { recursive: true })
        root.file(
          'app/index.mjs',
          `import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { ReadlineParser, SerialPort } from 'serialport'
const port = new SerialPort({ path: process.env.SERIAL ?? '/dev/ttyACM0', baudRate: 115200 })
let last = ''
port.pipe(new ReadlineParser({ delimiter: '\\n' })).on('data', (line) => { last = line })
createServer((request, response) => {
  if (request.method === 'POST') appendFileSync('data/state', 'stored')
  response.end(request.url === '/state' && existsSync('data/state') ? readFileSync('data/state') : last)
}).listen(8080)
`,
        )
      },
    }),
  used: 'lines of a sensor at a pseudo-terminal, through the gateway',
  use: async ({ http }) => expectText(await http('/'), /temperature 21\.5/),
  store: async ({ http }) => void (await http('/state', { method: 'POST' })),
  stored: async ({ http }) => expectText(await http('/state'), /^stored/),
}

/** A node of `/dev/zero`, which every user may read: black pixels. */
async function makeCamera(node: string): Promise<() => void> {
  execFileSync('mknod', ['-m', '0666', node, 'c', '1', '5'])
  return () => rmSync(node)
}

const ffmpeg: Program = {
  name: 'ffmpeg',
  manner: 'root; reads a camera, and serves pictures',
  version: () => versionOf(downloadPackages(['ffmpeg']), 'ffmpeg'),
  env: { 'MCM.DEVICES': 'DEVICE', CAMERA: 'DEVICE' },
  device: makeCamera,
  image: () =>
    makeImage({
      name: 'ffmpeg',
      packages: ['ffmpeg'],
      config: { Entrypoint: ['/stream.sh'], Volumes: { '/www': {} }, ExposedPorts: { '8000/tcp': {} } },
      fill(root) {
        for (const each of ['blas', 'lapack'])
          root.link(`usr/lib/x86_64-linux-gnu/lib${each}.so.3`, `${each}/lib${each}.so.3`)
        root.script(
          'stream.sh',
          `#!/bin/sh
httpd -p 8000 -h /www
exec ffmpeg -nostdin -loglevel error -re -f rawvideo -pixel_format rgb24 -video_size 160x120 -framerate 1 -i "$CAMERA" \\
  -f image2 -update 1 -y /www/picture.jpg
`,
        )
      },
    }),
  used: 'pictures of a device node with raw video, through the gateway',
  use: async ({ http }) => expectText(await http('/picture.jpg'), /JFIF|Lavc/),
}

export const devices: readonly Program[] = [ffmpeg, gpsd, modbus, zigbee]
