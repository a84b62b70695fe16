# The server of `utmost serve`: docker build -t utmost . && docker run -p 8020:8020 -v $PWD/data:/data utmost
# /data holds utmost.toml (with host = "0.0.0.0", which needs keys), the tables, and the ledger.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps -w /wheels .

FROM python:3.13-slim
RUN --mount=from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/*.whl)[serve,postgres]" \
    && useradd --create-home --uid 10001 utmost
USER utmost
WORKDIR /data
ENV UTMOST_STATE=/data/state
EXPOSE 8020
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8020/healthz', timeout=3)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["utmost"]
CMD ["serve", "utmost.toml"]
