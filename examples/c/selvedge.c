/*
 * The four calls of a device, in C with libcurl and cJSON: who am I, prove it, join an account, report a location.
 *
 *   cc -Wall -Wextra -o selvedge selvedge.c -lcurl -lcjson
 *
 * Environment:
 *   CLIENT_ID, DEVELOPER_ID_TOKEN   from the page of your project in the console
 *   SELVEDGE_URL                    the runtime on this device; default http://127.0.0.1:8083
 *   SELVEDGE_IDENTITY_URL           the identity service; default http://localhost:8084
 */
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ANSWER_BYTES = 1024 * 1024, TIMEOUT_SECONDS = 10 };

struct answer {
  char *text;
  size_t bytes;
};

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static const char *setting(const char *name, const char *usual) {
  const char *value = getenv(name);
  if (value && *value) return value;
  if (!usual) fail(name, "set this environment variable");
  return usual;
}

static size_t receive(char *data, size_t size, size_t count, void *context) {
  struct answer *answer = context;
  size_t bytes = size * count;
  if (answer->bytes + bytes > MAX_ANSWER_BYTES) return 0;
  char *text = realloc(answer->text, answer->bytes + bytes + 1);
  if (!text) return 0;
  memcpy(text + answer->bytes, data, bytes);
  answer->text = text;
  answer->bytes += bytes;
  text[answer->bytes] = '\0';
  return bytes;
}

/* Sends a body and reads the answer as JSON. The caller deletes it. */
static cJSON *post(const char *base, const char *path, const char *type, const char *body) {
  char url[1024], header[128], problem[CURL_ERROR_SIZE] = "";
  struct answer answer = {0};
  snprintf(url, sizeof url, "%s%s", base, path);
  snprintf(header, sizeof header, "Content-Type: %s", type);
  CURL *curl = curl_easy_init();
  struct curl_slist *headers = curl_slist_append(NULL, header);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_SECONDS);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
  if (curl_easy_perform(curl) != CURLE_OK) fail(url, problem);
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  cJSON *json = cJSON_Parse(answer.text ? answer.text : "");
  if (!json) fail(url, "the answer is not JSON");
  free(answer.text);
  return json;
}

/* The text of a member; its answer must have it. */
static char *text_of(const cJSON *object, const char *name) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!cJSON_IsString(member)) {
    char *shown = cJSON_Print(object);
    fail(name, shown ? shown : "not in the answer");
  }
  return strdup(member->valuestring);
}

/* Calls a method of the local JSON-RPC API. @return a text of its result */
static char *call(const char *method, const char *const params[], int count, const char *name) {
  cJSON *request = cJSON_CreateObject();
  cJSON_AddStringToObject(request, "jsonrpc", "2.0");
  cJSON_AddNumberToObject(request, "id", 1);
  cJSON_AddStringToObject(request, "method", method);
  cJSON_AddItemToObject(request, "params", cJSON_CreateStringArray(params, count));
  char *body = cJSON_PrintUnformatted(request);
  cJSON *answer = post(setting("SELVEDGE_URL", "http://127.0.0.1:8083"), "/jsonrpc/v1", "application/json", body);
  const cJSON *result = cJSON_GetObjectItemCaseSensitive(answer, "result");
  char *text = text_of(result ? result : answer, name);
  cJSON_Delete(answer);
  cJSON_Delete(request);
  free(body);
  return text;
}

/* Exchanges the tokens of the developer and of the device for an access token. */
static char *access_token(const char *edge_id_token) {
  CURL *curl = curl_easy_init();
  char *client = curl_easy_escape(curl, setting("CLIENT_ID", NULL), 0);
  char *developer = curl_easy_escape(curl, setting("DEVELOPER_ID_TOKEN", NULL), 0);
  char *edge = curl_easy_escape(curl, edge_id_token, 0);
  const char *form = "grant_type=id_token_signin&scope=openid%%20edge:account:associate"
                     "&client_id=%s&id_token=%s&edge_id_token=%s";
  size_t room = strlen(form) + strlen(client) + strlen(developer) + strlen(edge) + 1;
  char *body = malloc(room);
  if (!body) fail("malloc", "no memory");
  snprintf(body, room, form, client, developer, edge);
  cJSON *answer = post(setting("SELVEDGE_IDENTITY_URL", "http://localhost:8084"), "/token",
                       "application/x-www-form-urlencoded", body);
  char *token = text_of(answer, "access_token");
  cJSON_Delete(answer);
  curl_free(client);
  curl_free(developer);
  curl_free(edge);
  curl_easy_cleanup(curl);
  free(body);
  return token;
}

int main(void) {
  const char *none[] = {""};
  curl_global_init(CURL_GLOBAL_DEFAULT);
  char *node = call("getMe", none, 1, "nodeId");
  printf("node %s\n", node);

  char *edge_id_token = call("getEdgeIdToken", none, 1, "id_token");
  char *token = access_token(edge_id_token);
  const char *owner[] = {token};
  char *account = call("associateAccount", owner, 1, "accountId");
  printf("account %s\n", account);

  /* Longitude, latitude (decimal degrees), speed (m/s), bearing (degrees): all as text. */
  const char *location[] = {token, "-123.115", "49.25", "10.5", "350"};
  char *status = call("updateGps", location, 5, "status");
  printf("location %s\n", status);

  free(node), free(edge_id_token), free(token), free(account), free(status);
  curl_global_cleanup();
  return 0;
}
