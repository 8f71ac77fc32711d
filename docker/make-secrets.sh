#!/bin/sh
# Makes what docker-compose.yml needs in ./secrets, once: passwords, the API token, a certificate of our own.
# Nothing that exists is overwritten. Give names for the certificate as arguments: make-secrets.sh market.example.net
set -eu
cd "$(dirname "$0")/.."
mkdir -p secrets
# The folder keeps others out; the files must be readable by the accounts inside the containers.
chmod 0700 secrets
secret() {
  [ -e "secrets/$1" ] || openssl rand -hex 24 > "secrets/$1"
}
secret postgres_password
secret redis_password
secret grafana_password
secret token
if [ ! -e secrets/tls_key ]; then
  names="DNS:localhost,DNS:tapeworks,IP:127.0.0.1"
  for name in "$@"; do names="$names,DNS:$name"; done
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 825 -subj /CN=tapeworks \
    -addext "subjectAltName=$names" -keyout secrets/tls_key -out secrets/tls_cert 2>/dev/null
fi
chmod 0444 secrets/*
echo "secrets/ is ready; dashboard token: $(cat secrets/token)"
