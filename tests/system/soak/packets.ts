/** Hostile packets of multicast DNS: sound ones that were changed, two hundred a second. */
import { createSocket } from 'node:dgram'
import { mutate } from '../fuzz/engine/mutate.ts'
import { createRandom } from '../fuzz/engine/random.ts'
import { dns } from '../fuzz/targets/dns.ts'
import { type Counts, sendCounts } from './plan.ts'

const perSecond = 200
const group = '224.0.0.251'
const port = 5353
const [, , address = ''] = process.argv
const random = createRandom(String(Date.now()))
const seeds = await dns.seeds()
const counts: Counts = { packets: 0 }

/** Some come from the port of the group, as an answer must, and some from another one. */
const sockets = [port, 0].map((own) => {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  socket.on('error', () => undefined)
  socket.bind(own, () => {
    socket.setMulticastInterface(address)
    socket.setMulticastTTL(255)
  })
  return socket
})
sendCounts(counts)
setInterval(() => {
  for (let left = perSecond / 20; left > 0; left--) {
    const packet = random.oneIn(3)
      ? random.pick(seeds)
      : mutate(random.pick(seeds), random, {
          others: seeds,
          words: dns.words ?? [],
          own: dns.mutators ?? [],
          maxBytes: 8900,
        })
    random.pick(sockets).send(packet, port, group, () => undefined)
    counts.packets!++
  }
}, 50)
