#!/bin/sh
# A client written from the protocol page alone: curl, sha256sum and sed. Settings: NOEIRA_CLOUD_URL, NOEIRA_CLOUD_API_KEY.
# Pushes a dataset and a recording, pulls both, and compares; says "round trip" at the end.
set -eu

url=${NOEIRA_CLOUD_URL%/}
name=$1

api() { # METHOD PATH [JSON]: the answer's body; fails on an error status
    curl -fsS -X "$1" -H "Authorization: Bearer $NOEIRA_CLOUD_API_KEY" -H 'Content-Type: application/json' \
        ${3+--data-binary "$3"} "$url$2"
}
status() { # METHOD PATH: the answer's status
    curl -sS -o /dev/null -w '%{http_code}' -X "$1" -H "Authorization: Bearer $NOEIRA_CLOUD_API_KEY" "$url$2"
}
field() { # NAME < JSON: the first text under that name
    sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" | head -n 1
}
size() { wc -c < "$1" | tr -d ' '; }
digest() { sha256sum "$1" | cut -d ' ' -f 1; }
facts() { printf '"sha256":"%s","size_bytes":%s' "$(digest "$1")" "$(size "$1")"; }

head -c 300000 /dev/urandom > dataset.h5
head -c 70000 /dev/urandom > episode.parquet
printf '{"codebase_version": "v3.0"}' > info.json
: > empty

# a dataset: register, PUT, complete
registered=$(api POST /datasets "{\"name\":\"$name\",\"version\":\"v1\",\"seed\":7,\"filename\":\"dataset.h5\"}")
[ "$(printf %s "$registered" | field id)" = "$name-v1" ]
[ "$(status GET "/datasets/$name-v1")" = 409 ]
curl -fsS -T dataset.h5 "$(printf %s "$registered" | field upload_url)"
[ "$(api POST "/datasets/$name-v1/complete" "{$(facts dataset.h5)}" | field status)" = ready ]

# and back: describe, GET, compare
described=$(api GET "/datasets/$name-v1")
curl -fsS -o pulled.h5 "$(printf %s "$described" | field download_url)"
[ "$(digest pulled.h5)" = "$(printf %s "$described" | field sha256)" ]
cmp dataset.h5 pulled.h5
# a part of it, as a resumed pull asks
curl -fsS -r 1000-1999 -o part "$(printf %s "$described" | field download_url)"
[ "$(size part)" = 1000 ]

# a recording: offer, PUT, complete, file by file; info.json last
api PUT "/projects/$name" '{"description":"from a shell"}' > /dev/null
recording=/projects/$name/datasets/cubes
[ "$(status GET "$recording/files")" = 404 ]
api PUT "$recording" '{"n_episodes":1,"n_frames":100,"fps":30}' > /dev/null
for pair in episode.parquet:data/episode.parquet empty:data/empty info.json:meta/info.json; do
    file=${pair%%:*}
    body="{\"path\":\"${pair#*:}\",$(facts "$file")}"
    offered=$(api POST "$recording/files" "$body")
    case $offered in
    *'"unchanged":true'*) ;; # the account has these bytes already
    *)
        curl -fsS -T "$file" "$(printf %s "$offered" | field upload_url)"
        api POST "$recording/files/complete" "$body" > /dev/null
        ;;
    esac
    # Offered again, nothing moves.
    api POST "$recording/files" "$body" | grep -q '"unchanged":true'
done

# and back
api GET "$recording/files" | sed 's/{"path"/\n{"path"/g' | grep '^{"path"' > files
[ "$(wc -l < files)" -eq 3 ]
mkdir -p pulled/data pulled/meta
while read -r row; do
    path=$(printf %s "$row" | field path)
    curl -fsS -o "pulled/$path" "$(printf %s "$row" | field download_url)"
    [ -e "pulled/$path" ] || : > "pulled/$path" # an older curl makes no file of nothing
    [ "$(digest "pulled/$path")" = "$(printf %s "$row" | field sha256)" ]
done < files
cmp episode.parquet pulled/data/episode.parquet

# a definition file: compare and swap by digest
printf 'robot = so101\n# %s\n' "$name" > project.kv
body="{\"path\":\"project.kv\",$(facts project.kv),\"base_sha256\":null}"
curl -fsS -T project.kv "$(api POST "/projects/$name/files/presign" "$body" | field upload_url)"
api POST "/projects/$name/files/complete" "$body" > /dev/null
first=$(digest project.kv)
[ "$(api GET "/projects/$name/files" | field sha256)" = "$first" ]
echo changed >> project.kv
stale="{\"path\":\"project.kv\",$(facts project.kv),\"base_sha256\":null}"
conflict=$(curl -sS -w '%{http_code}' -H "Authorization: Bearer $NOEIRA_CLOUD_API_KEY" -H 'Content-Type: application/json' \
    --data-binary "$stale" "$url/projects/$name/files/presign")
[ "$(printf %s "$conflict" | field current_sha256)" = "$first" ]
case $conflict in *409) ;; *) exit 1 ;; esac

# what the service says it has beyond the protocol: revisions, batches, pages
for extension in revisions batch pages filename multipart-key; do
    curl -fsS "$url/" | grep -q "\"$extension\""
done
api GET "$recording/revisions" | grep -q '"revision":1' # completing info.json committed the first
one="{\"files\":{\"meta/info.json\":\"$(digest info.json)\"},\"n_episodes\":1,\"n_frames\":100}"
api POST "$recording/revisions" "$one" | grep -q '"revision":2'
api POST "$recording/revisions" "$one" | grep -q '"revision":2' # safe to repeat
api GET "$recording/files?revision=1" | grep -q data/episode.parquet
api POST "$recording/revisions/1/restore" | grep -q '"revision":3'
missing="{\"files\":{\"meta/info.json\":\"$first$first\"}}"
[ "$(curl -sS -o /dev/null -w '%{http_code}' -X POST -H "Authorization: Bearer $NOEIRA_CLOUD_API_KEY" \
    -H 'Content-Type: application/json' --data-binary "$missing" "$url$recording/revisions")" = 422 ]
printf 'batch of %s' "$name" > batched
batch="{\"files\":[{\"path\":\"meta/info.json\",$(facts info.json)},{\"path\":\"data/batched\",$(facts batched)}]}"
offered=$(api POST "$recording/files/batch" "$batch")
printf %s "$offered" | grep -q '"unchanged":true'
curl -fsS -T batched "$(printf %s "$offered" | field upload_url)"
[ "$(api POST "$recording/files/complete-batch" "$batch" | grep -o '"status":"ready"' | wc -l)" -eq 2 ]
pages=0 after=
while :; do
    curl -fsS -D headers -o page -H "Authorization: Bearer $NOEIRA_CLOUD_API_KEY" \
        "$url$recording/files?revision=working&limit=1&after=$after"
    pages=$((pages + 1))
    after=$(tr -d '\r' < headers | awk 'tolower($1) == "x-next-after:" { print $2 }')
    [ -n "$after" ] || break
done
[ "$pages" -eq 4 ]

# gone again
[ "$(status DELETE "/datasets/$name-v1")" = 204 ]
[ "$(status GET "/datasets/$name-v1")" = 404 ]
[ "$(status DELETE "$recording")" = 204 ]
echo "round trip"
