/** A service that stores a note, in two languages. */
export const notesInPython = `import sqlite3
from flask import Flask, request
app = Flask(__name__)
def rows(*query):
    with sqlite3.connect('/data/notes.db') as db:
        db.execute('create table if not exists notes (text)')
        return db.execute(*query).fetchall()
@app.get('/')
def index(): return 'notes'
@app.get('/note')
def read(): return rows('select text from notes')[-1][0]
@app.post('/note')
def write():
    rows('insert into notes values (?)', (request.get_data(as_text=True),))
    return 'ok'
`

export const notesInJava = `import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
public class Notes {
  public static void main(String[] args) throws Exception {
    var file = Path.of("/data/note");
    var server = HttpServer.create(new InetSocketAddress(8000), 0);
    server.createContext("/", call -> {
      var isNote = call.getRequestURI().getPath().equals("/note");
      if (call.getRequestMethod().equals("POST")) Files.write(file, call.getRequestBody().readAllBytes());
      var answer = isNote && Files.exists(file) ? Files.readAllBytes(file) : "notes".getBytes();
      call.sendResponseHeaders(200, answer.length);
      call.getResponseBody().write(answer);
      call.close();
    });
    server.start();
  }
}
`
