# Buys 10 USD for an account under a key, then carries out a file of lines that have keys.
# sh order.sh PESEL KEY LINES; FX_URL and FX_TOKEN name the server and a teller's token. Exits with 8 if an outcome is
# unknown: run it again.
set -eu
# The token stays out of the list of processes.
send() { printf 'Authorization: Bearer %s\n' "$FX_TOKEN" | curl --silent --header @- "$@"; }

settled=unknown
for attempt in 1 2 3 4 5; do
  status=$(send --request POST --max-time 30 --header 'Content-Type: application/json' --header "Idempotency-Key: $2" \
    --data "{\"pesel\":\"$1\",\"from\":\"PLN\",\"to\":\"USD\",\"toBuy\":10}" \
    --dump-header headers --output answer.json --write-out '%{http_code}' "$FX_URL/api/exchange/$1") || status=none
  # An answer that is cut off in its head has a status, and no body.
  grep -q '}$' answer.json || status=none
  case $status in
    200) receipt=$(sed -n 's/^fx-receipt: *//ip' headers | tr -d '\r') && [ "$receipt" ] &&
      settled="settled $receipt" && break ;;
    # A gateway answers with such a status and JSON, too.
    400 | 404 | 409 | 422) grep -q '"type":"urn:fx:error:' answer.json &&
      settled="refused $(sed 's/.*"code":"\([^"]*\)".*/\1/' answer.json)" && break ;;
  esac
  sleep "$attempt"
done
if [ "$settled" = unknown ]; then echo "unknown: send it again with the key $2" && exit 8; fi
echo "$settled"

for attempt in 1 2 3 4 5; do
  send --request POST --header 'Content-Type: application/x-ndjson' --upload-file "$3" "$FX_URL/api/bulk" > answers || true
  answered=$(grep -c '^{"line":[0-9].*}$' answers) || true
  if [ "$answered" = "$(grep -c . "$3")" ]; then break; fi
  sleep "$attempt"
done
echo "done $(grep -c '"status":20[04]' answers), answered $answered of $(grep -c . "$3")"
[ "$answered" = "$(grep -c . "$3")" ] || exit 8
