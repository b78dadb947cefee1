# One image for every service of docker-compose.yml: pages, workers, beat, migration.
FROM python:3.11-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
COPY requirements/run.txt requirements/run.txt
RUN python -m venv /venv && /venv/bin/pip install --require-hashes -r requirements/run.txt

FROM python:3.11-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 EVALSITE_VAR=/var/lib/evalsite EVALSITE_LOG_CONSOLE=1
RUN useradd --system --uid 10001 --home-dir /var/lib/evalsite --create-home evalsite
COPY --from=build /venv /venv
WORKDIR /app
COPY manage.py pyproject.toml ./
COPY evalsite evalsite
COPY experiments experiments
COPY templates templates
COPY static static
USER evalsite
# Collected into the image: the hashed names belong to this version of the code.
RUN SECRET_KEY=only-for-this-step python manage.py collectstatic --noinput --verbosity 0
EXPOSE 8000
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", "--blocking-threads", "4", "--no-ws", "evalsite.wsgi:application"]
