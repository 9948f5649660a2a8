/** Programs in Python at the other end of a pseudo-terminal; each prints the path of the terminal first. */
const open = `import os, pty, time, tty
one, other = pty.openpty()
tty.setraw(other)
os.chmod(os.ttyname(other), 0o666)
print(os.ttyname(other), flush=True)
`

/** A receiver of satellite navigation that sends a position again and again. */
export const receiver = `${open}
def line(text):
    total = 0
    for each in text: total ^= ord(each)
    return ('$%s*%02X\\r\\n' % (text, total)).encode()
while True:
    now = time.strftime('%H%M%S', time.gmtime())
    day = time.strftime('%d%m%y', time.gmtime())
    os.write(one, line('GPGGA,%s.00,4717.11437,N,00833.91522,E,1,08,1.01,499.6,M,48.0,M,,' % now))
    os.write(one, line('GPRMC,%s.00,A,4717.11437,N,00833.91522,E,0.004,77.52,%s,,,A' % (now, day)))
    time.sleep(0.2)
`

/** A sensor that sends lines. */
export const sensor = `${open}
while True:
    os.write(one, b'temperature 21.5\\n')
    time.sleep(0.2)
`

/** A slave of Modbus RTU with the holding registers 215 and 48, whatever is read. */
export const modbusSlave = `${open}
def crc(data):
    value = 0xffff
    for each in data:
        value ^= each
        for _ in range(8): value = (value >> 1) ^ (0xa001 if value & 1 else 0)
    return bytes([value & 255, value >> 8])
received = b''
while True:
    received += os.read(one, 256)
    if len(received) < 8: continue
    request, received = received[:8], received[8:]
    if crc(request[:6]) != request[6:]: received = b''; continue
    answer = bytes([request[0], 3, 4, 0, 215, 0, 48])
    os.write(one, answer + crc(answer))
`
